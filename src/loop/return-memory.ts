import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

/** MADV_DONTNEED of madvise(2). */
const dontNeed = 4

interface Mapping {
  readonly start: bigint
  readonly bytes: bigint
}

/**
 * Returns what gives memory back to the system that this process does not use now: free pages of the C library's heaps (malloc_trim(3) of glibc),
 * and, on the main thread, the unchanged pages of its files. Of Node's program the start alone uses most; the kernel keeps them in its cache of
 * files, from where a page comes back within a microsecond, until other programs need that memory. Does nothing where the calls cannot be reached.
 */
export function createMemoryReturn(): () => void {
  try {
    const calls = process.getBuiltinModule('node:ffi')?.dlopen(null, {
      malloc_trim: { return: 'i32', arguments: ['u64'] },
      madvise: { return: 'i32', arguments: ['u64', 'u64', 'i32'] },
    }).functions
    if (calls === undefined) return () => {}
    return () => {
      calls.malloc_trim(0n)
      if (!isMainThread) return
      for (const { start, bytes } of unchangedFiles(readFileSync('/proc/self/smaps', 'utf8')))
        calls.madvise(start, bytes, dontNeed)
    }
  } catch {
    return () => {}
  }
}

/**
 * Finds the mappings that hold nothing but what is in their file: not writable and not shared, without a page of this process' own, present or swapped
 * out. Relocations and breakpoints make such pages, which would be lost. Source: `/proc/PID/smaps` in proc(5).
 */
export function unchangedFiles(smaps: string): readonly Mapping[] {
  const blocks = smaps.split(/^(?=[\da-f]+-[\da-f]+ )/m)
  return blocks.flatMap((block) => {
    const [, from, to] = /^([\da-f]+)-([\da-f]+) r-[x-]p \S+ \S+ [1-9]\d* +\//.exec(block) ?? []
    const isWhole = /^Anonymous: +0 kB$/m.test(block) && /^Swap: +0 kB$/m.test(block)
    const isDirty = /^(Private_Dirty|Shared_Dirty|Locked): +[1-9]/m.test(block)
    if (from === undefined || to === undefined || !isWhole || isDirty) return []
    const start = BigInt(`0x${from}`)
    return [{ start, bytes: BigInt(`0x${to}`) - start }]
  })
}
