import { readdirSync, readFileSync } from 'node:fs'
import { processorMsWithChildren } from '../processor-time.ts'

/** What the program and its children hold and have used: MiB resident, seconds of CPU. */
export function usageOf(pid: number): { readonly residentMiB: number; readonly cpuSeconds: number } {
  const pids = [pid, ...descendants(pid)]
  const sum = (read: (pid: number) => number) => pids.reduce((total, one) => total + (ifThere(() => read(one)) ?? 0), 0)
  return { residentMiB: sum(residentMiB), cpuSeconds: sum(processorMsWithChildren) / 1000 }
}

/** Memory of the kernel that nothing can take back, of the whole machine: rules, sets and elements are in it. */
export function kernelMemoryMiB(): number {
  return Number(/SUnreclaim:\s+(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1] ?? Number.NaN) / 1024
}

function descendants(pid: number): number[] {
  const tasks = ifThere(() => readdirSync(`/proc/${pid}/task`)) ?? []
  const children = tasks.flatMap((task) =>
    (ifThere(() => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')) ?? '')
      .split(' ')
      .filter(Boolean)
      .map(Number),
  )
  return children.flatMap((child) => [child, ...descendants(child)])
}

/** Processes and threads end while they are read. */
function ifThere<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

function residentMiB(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
}
