import { closeSync } from 'node:fs'
import { getSystemErrorName } from 'node:util'
import { knownFfi } from '../ffi.ts'

type Ffi = typeof import('node:ffi')
type Calls = ReturnType<typeof findCalls>

// These constants hold in the C libraries of Linux (glibc, musl) on 64-bit machines: spawn.h, fcntl.h and wait.h.
/** POSIX_SPAWN_SETSIGDEF, POSIX_SPAWN_SETSIGMASK and POSIX_SPAWN_SETSID. */
const spawnFlags = 0x04 | 0x08 | 0x80
/** O_CLOEXEC */
const closeOnExec = 0o2_000_000
/** WNOHANG */
const noHang = 1
/** Size that fits `posix_spawnattr_t` (336 bytes), `posix_spawn_file_actions_t` (80) and `sigset_t` (128). */
const structBytes = 512
const pointerBytes = 8

export interface SpawnRequest {
  /** A path; PATH is not searched. */
  readonly file: string
  /** Arguments; the first is the program's own name. */
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string | undefined
}

/** A running program and our ends of its pipes, which the caller closes. */
export interface Spawned {
  readonly pid: number
  readonly stdin: number
  readonly stdout: number
  readonly stderr: number
}

/** The end of a child: its exit code, undefined if a signal ended it. */
export interface ChildEnd {
  readonly exitCode: number | undefined
}

/**
 * Starts programs by the C library's `posix_spawn`: a child borrows this process' memory until it runs its own program, for which this
 * thread waits (0.1 to 0.2 ms). Node's `spawn` forks, which first copies the page tables.
 */
export class PosixSpawn {
  readonly #calls: Calls
  readonly #block: (strings: readonly string[]) => Block
  readonly #attributes = Buffer.alloc(structBytes)
  readonly #number = Buffer.alloc(pointerBytes)

  /** Loads the functions; undefined if the C library cannot be reached. */
  static open(): PosixSpawn | undefined {
    const ffi = knownFfi()
    return ffi && new PosixSpawn(ffi)
  }

  private constructor(ffi: Ffi) {
    this.#calls = findCalls(ffi)
    this.#block = (strings) => new Block(ffi, strings)
    this.#calls.posix_spawnattr_init(this.#attributes)
    this.#calls.posix_spawnattr_setflags(this.#attributes, spawnFlags)
    // A program would inherit the signals that Node ignores (SIGPIPE), so they are reset. The set of blocked signals is empty.
    this.#calls.posix_spawnattr_setsigdefault(this.#attributes, Buffer.alloc(structBytes, 0xff))
  }

  /** Starts a program in a session of its own, and so in a process group of its own. Throws an error with the system's code (ENOENT, EACCES …). */
  spawn(request: SpawnRequest): Spawned {
    const open = new Set<number>()
    try {
      const [stdin, stdout, stderr] = [this.#pipe(open), this.#pipe(open), this.#pipe(open)]
      const pid = this.#spawnWith([stdin.reading, stdout.writing, stderr.writing], request)
      for (const fd of [stdin.writing, stdout.reading, stderr.reading]) open.delete(fd)
      return { pid, stdin: stdin.writing, stdout: stdout.reading, stderr: stderr.reading }
    } finally {
      for (const fd of open) closeSync(fd)
    }
  }

  /** Reaps a child; undefined while it runs. After it is reaped the kernel may reuse its pid. */
  endOf(pid: number): ChildEnd | undefined {
    const found = this.#calls.waitpid(pid, this.#number, noHang)
    if (found === 0) return undefined
    const status = this.#number.readInt32LE(0)
    const isExit = found === pid && (status & 0x7f) === 0
    return { exitCode: isExit ? (status >> 8) & 0xff : undefined }
  }

  #pipe(open: Set<number>): { readonly reading: number; readonly writing: number } {
    if (this.#calls.pipe2(this.#number, closeOnExec) !== 0) throw systemError('pipe2', 'EMFILE')
    const [reading, writing] = [this.#number.readInt32LE(0), this.#number.readInt32LE(4)]
    open.add(reading).add(writing)
    return { reading, writing }
  }

  /** Builds the file actions; `stdio` has the first three descriptors. */
  #spawnWith(stdio: readonly number[], { file, argv, env, cwd }: SpawnRequest): number {
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const [args, environment] = [this.#block(argv), this.#block(variables)]
    const actions = Buffer.alloc(structBytes)
    this.#calls.posix_spawn_file_actions_init(actions)
    try {
      for (const [as, fd] of stdio.entries()) this.#calls.posix_spawn_file_actions_adddup2(actions, fd, as)
      if (cwd !== undefined) this.#calls.posix_spawn_file_actions_addchdir_np(actions, cString(cwd))
      const problem = this.#calls.posix_spawn(
        this.#number,
        cString(file),
        actions,
        this.#attributes,
        args.bytes,
        environment.bytes,
      )
      if (problem !== 0) throw systemError('posix_spawn', getSystemErrorName(-problem))
      return this.#number.readInt32LE(0)
    } finally {
      this.#calls.posix_spawn_file_actions_destroy(actions)
    }
  }
}

/** Builds a C string array in one buffer: pointers, a null pointer, then the strings. */
class Block {
  readonly bytes: Buffer

  constructor(ffi: Ffi, strings: readonly string[]) {
    const parts = strings.map(cString)
    const pointers = Buffer.alloc((parts.length + 1) * pointerBytes)
    this.bytes = Buffer.concat([pointers, ...parts])
    let at = ffi.getRawPointer(this.bytes) + BigInt(pointers.length)
    for (const [index, part] of parts.entries()) {
      this.bytes.writeBigUInt64LE(at, index * pointerBytes)
      at += BigInt(part.length)
    }
  }
}

/** Encodes a C string. Throws for a string with a zero byte, which C would truncate. */
function cString(text: string): Buffer {
  if (text.includes('\0')) throw systemError('posix_spawn', 'EINVAL')
  return Buffer.from(`${text}\0`)
}

function systemError(call: string, code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${call} failed: ${code}`), { code, syscall: call })
}

/** Loads functions of this process' C library. */
function findCalls(ffi: Ffi) {
  return ffi.dlopen(null, {
    pipe2: { return: 'i32', arguments: ['pointer', 'i32'] },
    waitpid: { return: 'i32', arguments: ['i32', 'pointer', 'i32'] },
    posix_spawn: { return: 'i32', arguments: ['pointer', 'pointer', 'pointer', 'pointer', 'pointer', 'pointer'] },
    posix_spawnattr_init: { return: 'i32', arguments: ['pointer'] },
    posix_spawnattr_setflags: { return: 'i32', arguments: ['pointer', 'i16'] },
    posix_spawnattr_setsigdefault: { return: 'i32', arguments: ['pointer', 'pointer'] },
    posix_spawn_file_actions_init: { return: 'i32', arguments: ['pointer'] },
    posix_spawn_file_actions_adddup2: { return: 'i32', arguments: ['pointer', 'i32', 'i32'] },
    posix_spawn_file_actions_addchdir_np: { return: 'i32', arguments: ['pointer', 'pointer'] },
    posix_spawn_file_actions_destroy: { return: 'i32', arguments: ['pointer'] },
  }).functions
}
