import { existsSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { commonOptions, explainFailure, explainStartFailure, type ProgramEnd, type runProgram } from './exec.ts'
import { PosixSpawn, type SpawnRequest } from './posix-spawn.ts'
import { type CapturedRun, captureRun, runCaptured, type StartGroup } from './run-captured.ts'

/** Output limit of trusted programs: ten times the rules of 50,000 Services. */
const maxOutputBytes = 256 * 1024 * 1024

/**
 * Runs programs from a large process by `posix_spawn`, which stops the event loop for 0.1 ms at any size. Node's own spawn takes 1 ms in a
 * small process, 4 ms with 100 MB, 17 ms with 400 MB; it remains in use where the C library cannot be reached, and in threads, which get
 * no SIGCHLD.
 */
export class ProgramStarter {
  readonly #spawner = isMainThread ? PosixSpawn.open() : undefined
  /** Callbacks for the end of each child, by pid. */
  readonly #running = new Map<number, (exitCode: number | undefined) => void>()

  /** Runs a program like `runCaptured`. */
  readonly run: typeof runCaptured = (file, args, options) => {
    const spawner = this.#spawner
    if (spawner === undefined) return runCaptured(file, args, options)
    const start: StartGroup = async (...request) => this.#start(spawner, ...request)
    return captureRun(start, file, args, options)
  }

  /** Runs a program like the function `runProgram`. */
  readonly runProgram: typeof runProgram = async (file, args, options) => {
    const { env, cwd, input = '', timeoutMs, signal, completionMarker } = { ...options, ...commonOptions(options) }
    const command = [file, ...args].join(' ')
    const { pid, ...run } = await this.run(file, args, {
      env: { ...ownEnvironment(), ...env },
      cwd,
      input,
      timeoutMs,
      maxOutputBytes,
      completionMarker,
      ...(signal && { signal }),
    })
    if (run.endedBy === 'exit' && run.exitCode === 0) return { ...run, exitCode: 0, pid }
    throw explainFailure(command, endOf(run), timeoutMs)
  }

  #start(spawner: PosixSpawn, ...[file, args, { env, cwd }]: Parameters<StartGroup>) {
    const { promise, resolve } = Promise.withResolvers<number | undefined>()
    // Registered before the child starts, because it may end at once.
    if (this.#running.size === 0) process.on('SIGCHLD', this.#onChildEnd)
    try {
      const { pid, stdin, stdout, stderr } = spawnFirst(spawner, pathsOf(file, env), {
        argv: [file, ...args],
        env,
        cwd,
      })
      this.#running.set(pid, resolve)
      return {
        pid,
        stdin: new Socket({ fd: stdin, readable: false, writable: true }),
        stdout: new Socket({ fd: stdout, readable: true, writable: false }),
        stderr: new Socket({ fd: stderr, readable: true, writable: false }),
        exited: promise,
      }
    } catch (thrown) {
      const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined
      throw explainStartFailure([file, ...args].join(' '), { code, cause: thrown })
    } finally {
      this.#listenWhileNeeded()
    }
  }

  /** Reaps ended children: one SIGCHLD may stand for several, and for children of other code. */
  readonly #onChildEnd = (): void => {
    for (const [pid, resolve] of this.#running) {
      const end = this.#spawner?.endOf(pid)
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

function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
}

function endOf({ endedBy, exitCode, stderr }: CapturedRun): ProgramEnd {
  if (endedBy === 'timeout') return { endedBy, exitCode, stderr }
  if (endedBy === 'output')
    return { endedBy: 'signal', exitCode, stderr, signal: `us: more than ${maxOutputBytes} bytes of output` }
  const isKilled = endedBy === 'caller' || exitCode === undefined
  return { endedBy: isKilled ? 'signal' : 'exit', exitCode, stderr, ...(endedBy === 'exit' && { signal: 'a signal' }) }
}
