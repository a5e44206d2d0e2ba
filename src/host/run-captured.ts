import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { ExecError, explainStartFailure, killGroup } from './exec.ts'

export interface CaptureOptions {
  /** The whole environment: nothing of this process' own is added. */
  readonly env: Readonly<Record<string, string>>
  /** This process' own unless given. */
  readonly cwd?: string | undefined
  /** Written to standard input, which is then closed. */
  readonly input: string
  /** At this age the whole process group gets SIGKILL. */
  readonly timeoutMs: number
  /** Of standard output and standard error each; more ends the process group. */
  readonly maxOutputBytes: number
  /** Aborting kills the process group. */
  readonly signal?: AbortSignal
  /** The program has succeeded once its standard output holds this text; the result does not wait for its exit. */
  readonly completionMarker?: string | undefined
}

/** How a program that was started came to its end. */
export interface CapturedRun {
  /** `exit` by itself; the others say why it was killed. */
  readonly endedBy: 'exit' | 'timeout' | 'output' | 'caller'
  /** Undefined where a signal ended it. */
  readonly exitCode: number | undefined
  readonly stdout: string
  readonly stderr: string
  readonly durationMs: number
  /** Undefined where it was not even started. */
  readonly pid?: number | undefined
}

/** A program that leads a process group of its own, and our ends of its pipes. */
interface StartedGroup {
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Its exit code, undefined where a signal ended it. */
  readonly exited: Promise<number | undefined>
}

/** Throws ExecError (`not-found`, `failed`) where it cannot be started. */
export type StartGroup = (
  file: string,
  args: readonly string[],
  place: Pick<CaptureOptions, 'env' | 'cwd'>,
) => Promise<StartedGroup>

/** A program that has ended keeps its output open through a child of its own at most this long. */
const outputGraceMs = 500

/**
 * Runs a program that is not ours in a process group of its own, in an environment that is only what is given, and never more of its
 * output than allowed. Any exit is a result; throws ExecError (`not-found`, `failed`) only where it cannot be started.
 */
export function runCaptured(file: string, args: readonly string[], options: CaptureOptions): Promise<CapturedRun> {
  return captureRun(spawnGroup, file, args, options)
}

/** `runCaptured` of a program that is started in another way. */
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
  // A program may end without having read its input.
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

/** By Node's own spawn. Some failures to start are thrown (EACCES, E2BIG) and some are told by event. */
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

/** Whether a program could not be started because it is being written at this moment (ETXTBSY, execve(2)). */
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
