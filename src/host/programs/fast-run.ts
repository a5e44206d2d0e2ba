import { existsSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { captureProgram, type StartPiped } from './capture.ts'
import { explainStartFailure } from './exec-error.ts'
import type { Run } from './options.ts'
import { PosixSpawn, type SpawnRequest } from './posix-spawn.ts'
import { spawnPiped } from './spawn-group.ts'

/**
 * Creates a `runProgram` for a large process, where the cost of a start matters: by `posix_spawn`, which stops the event
 * loop for 0.1 ms at any size. Node's own spawn takes 1 ms in a small process, 4 ms with 100 MB, 17 ms with 400 MB; it
 * remains in use where the C library cannot be reached, and in threads, which get no SIGCHLD. Each program leads a
 * process group of its own.
 */
export function createFastRun(): Run {
  const spawner = isMainThread ? PosixSpawn.open() : undefined
  const start = spawner === undefined ? spawnPiped : new Children(spawner).start
  return (file, args, options) => captureProgram(start, file, args, options)
}

/** Starts children by `posix_spawn` and reaps them. */
class Children {
  readonly #spawner: PosixSpawn
  /** Callbacks for the end of each child, by pid. */
  readonly #running = new Map<number, (exitCode: number | undefined) => void>()

  constructor(spawner: PosixSpawn) {
    this.#spawner = spawner
  }

  readonly start: StartPiped = async (file, args, { env, cwd }) => {
    const { promise, resolve } = Promise.withResolvers<number | undefined>()
    // Registered before the child starts, because it may end at once.
    if (this.#running.size === 0) process.on('SIGCHLD', this.#onChildEnd)
    try {
      const request = { argv: [file, ...args], env, cwd }
      const { pid, stdin, stdout, stderr } = spawnFirst(this.#spawner, pathsOf(file, env), request)
      this.#running.set(pid, resolve)
      return {
        pid,
        stdin: new Socket({ fd: stdin, readable: false, writable: true }),
        stdout: new Socket({ fd: stdout, readable: true, writable: false }),
        stderr: new Socket({ fd: stderr, readable: true, writable: false }),
        exited: promise,
      }
    } catch (thrown) {
      throw explainStartFailure([file, ...args].join(' '), thrown)
    } finally {
      this.#listenWhileNeeded()
    }
  }

  /** Reaps ended children: one SIGCHLD may stand for several, and for children of other code. */
  readonly #onChildEnd = (): void => {
    for (const [pid, resolve] of this.#running) {
      const end = this.#spawner.endOf(pid)
      if (end === undefined) continue
      this.#running.delete(pid)
      resolve(end.exitCode)
    }
    this.#listenWhileNeeded()
  }

  #listenWhileNeeded(): void {
    if (this.#running.size === 0) process.off('SIGCHLD', this.#onChildEnd)
  }
}

/** Lists the candidate paths of a program by the PATH of its own environment. */
function pathsOf(file: string, env: SpawnRequest['env']): readonly string[] {
  if (file.includes('/')) return [file]
  const folders = (env['PATH'] ?? '/usr/bin:/bin').split(':')
  return folders.map((folder) => join(folder, file)).filter((path) => existsSync(path))
}

/** Starts the first of these files that can be started, like execvp(3). */
function spawnFirst(spawner: PosixSpawn, paths: readonly string[], request: Omit<SpawnRequest, 'file'>) {
  let problem: unknown = Object.assign(new Error('no such file in PATH'), { code: 'ENOENT' })
  for (const file of paths) {
    try {
      return spawner.spawn({ ...request, file })
    } catch (thrown) {
      if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EACCES')) throw thrown
      problem = thrown
    }
  }
  throw problem
}
