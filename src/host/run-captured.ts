import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { ExecError, explainStartFailure, killGroup } from './exec.ts'

export interface CaptureOptions {
  /** The whole environment; nothing of this process' own is added. */
  readonly env: Readonly<Record<string, string>>
  /** This process' own unless given. */
  readonly cwd?: string | undefined
  /** Written to standard input, which is then closed. */
  readonly input: string
  /** Time limit, at which the process group gets SIGKILL. */
  readonly timeoutMs: number
  /** Limit of standard output and of standard error; more output kills the process group. */
  readonly maxOutputBytes: number
  /** Kills the process group when it aborts. */
  readonly signal?: AbortSignal
  /** Completion marker: the program has succeeded once its standard output contains this text; the result does not wait for its exit. */
  readonly completionMarker?: string | undefined
}

/** The end of a started program. */
export interface CapturedRun {
  /** `exit` if it ended by itself; the other values name the reason for the kill. */
  readonly endedBy: 'exit' | 'timeout' | 'output' | 'caller'
  /** Exit code; undefined if a signal ended it. */
  readonly exitCode: number | undefined
  readonly stdout: string
  readonly stderr: string
  readonly durationMs: number
  /** Pid; undefined if it did not start. */
  readonly pid?: number | undefined
}

/** A running program that leads a process group of its own, and our ends of its pipes. */
interface StartedGroup {
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves with its exit code, undefined if a signal ended it. */
  readonly exited: Promise<number | undefined>
}

/** Starts a program. Throws ExecError (`not-found`, `failed`) if it cannot be started. */
export type StartGroup = (
  file: string,
  args: readonly string[],
  place: Pick<CaptureOptions, 'env' | 'cwd'>,
) => Promise<StartedGroup>

/** Time to wait for the end of the output after the program's exit; a child of it may hold the pipe open. */
const outputGraceMs = 500

/**
 * Runs an untrusted program in a process group of its own, with the given environment alone and a limit on its output. Any exit is a
 * result; throws ExecError (`not-found`, `failed`) only if it cannot be started.
 */
export function runCaptured(file: string, args: readonly string[], options: CaptureOptions): Promise<CapturedRun> {
  return captureRun(spawnGroup, file, args, options)
}

/** Captures the output and end of a program that `start` starts. */
export async function captureRun(
  start: StartGroup,
  file: string,
  args: readonly string[],
  options: CaptureOptions,
): Promise<CapturedRun> {
  const { signal, maxOutputBytes, completionMarker } = options
  if (signal?.aborted) return { endedBy: 'caller', exitCode: undefined, stdout: '', stderr: '', durationMs: 0 }
  const startedMs = performance.now()
  const program = await start(file, args, options)
  const { pid, stdin } = program
  let endedBy: CapturedRun['endedBy'] = 'exit'
  const end = (why: CapturedRun['endedBy']): void => {
    if (endedBy === 'exit') endedBy = why
    killGroup(pid, 'SIGKILL')
  }
  const marked = Promise.withResolvers<number>()
  const isMarked = (chunk: Buffer) => completionMarker !== undefined && chunk.includes(completionMarker)
  program.stdout.on('data', (chunk: Buffer) => isMarked(chunk) && marked.resolve(0))
  const stdout = new BoundedText(program.stdout, maxOutputBytes, () => end('output'))
  const stderr = new BoundedText(program.stderr, maxOutputBytes, () => end('output'))
  const timer = setTimeout(() => end('timeout'), options.timeoutMs)
  const onAbort = (): void => end('caller')
  signal?.addEventListener('abort', onAbort, { once: true })
  if (signal?.aborted) onAbort()
  // A program may end without reading its input.
  stdin.on('error', () => {})
  stdin.end(options.input)
  const ended = program.exited.then(async (exitCode) => {
    await closedWithin(outputGraceMs, [stdout, stderr])
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    for (const stream of [stdin, program.stdout, program.stderr]) stream.destroy()
    return exitCode
  })
  const exitCode = await Promise.race([ended, marked.promise])
  const durationMs = performance.now() - startedMs
  return { endedBy, exitCode, stdout: stdout.text(), stderr: stderr.text(), durationMs, pid }
}

/** Starts a program by Node's own spawn, which throws some failures (EACCES, E2BIG) and emits others as events. */
async function spawnGroup(...[file, args, { env, cwd }]: Parameters<StartGroup>): Promise<StartedGroup> {
  try {
    const child = spawn(file, args, { env, cwd, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
    const exited = new Promise<number | undefined>((resolve) =>
      child.once('exit', (code) => resolve(code ?? undefined)),
    )
    const { pid, stdin, stdout, stderr } = child
    await once(child, 'spawn')
    if (pid === undefined) throw new Error('a child without a pid')
    return { pid, stdin, stdout, stderr, exited }
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined
    throw explainStartFailure([file, ...args].join(' '), { code, cause: thrown })
  }
}

/** Tells whether a program did not start because its file is being written (ETXTBSY, execve(2)). */
export function isTextBusy(thrown: unknown): boolean {
  return thrown instanceof ExecError && hasCode(thrown.cause, 'ETXTBSY')
}

function hasCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === code
}

class BoundedText {
  readonly closed: Promise<void>
  readonly #chunks: Buffer[] = []

  constructor(stream: Readable, maxBytes: number, onTooMuch: () => void) {
    let bytes = 0
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) onTooMuch()
      else this.#chunks.push(chunk)
    })
    stream.on('error', () => {})
    this.closed = new Promise((resolve) => stream.once('close', resolve))
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8')
  }
}

async function closedWithin(graceMs: number, outputs: readonly BoundedText[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, graceMs)
  await Promise.race([promise, Promise.all(outputs.map(({ closed }) => closed))])
  clearTimeout(timer)
}
