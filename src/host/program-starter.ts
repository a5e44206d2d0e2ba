import { existsSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { commonOptions, explainFailure, explainStartFailure, type ProgramEnd, type runProgram } from './exec.ts'
import { PosixSpawn, type SpawnRequest } from './posix-spawn.ts'
import { type CapturedRun, captureRun, runCaptured, type StartGroup } from './run-captured.ts'

/** Of programs that are trusted: the rules of 50,000 Services, ten times. */
const maxOutputBytes = 256 * 1024 * 1024

/**
 * `runCaptured` and `runProgram` for a process that is large, by `posix_spawn`: the event loop stands still for 0.1 ms, however large. Node's
 * own spawn takes 1 ms in a small process, 4 ms with 100 MB, 17 ms with 400 MB; it starts programs where the C library cannot be reached, and in threads,
 * which hear no SIGCHLD.
 */
export class ProgramStarter {
  readonly #spawner = isMainThread ? PosixSpawn.open() : undefined
  /** Who waits for the end of a child, by its pid. */
  readonly #running = new Map<number, (exitCode: number | undefined) => void>()

  /** As `runCaptured`. */
  readonly run: typeof runCaptured = (file, args, options) => {
    const spawner = this.#spawner
    if (spawner === undefined) return runCaptured(file, args, options)
    const start: StartGroup = async (...request) => this.#start(spawner, ...request)
    return captureRun(start, file, args, options)
  }

  /** As the function of this name. */
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
    // Before the child is there: it may end at once.
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

  /** One signal may tell of several children, and of those of others. */
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

/** Where a program may be, by the PATH that it will have itself. */
function pathsOf(file: string, env: SpawnRequest['env']): readonly string[] {
  if (file.includes('/')) return [file]
  const folders = (env['PATH'] ?? '/usr/bin:/bin').split(':')
  return folders.map((folder) => join(folder, file)).filter((path) => existsSync(path))
}

/** The first of these files that may be started, as execvp(3) does it. */
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
