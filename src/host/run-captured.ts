import { type ChildProcess, spawn } from 'node:child_process'
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

/** A program that has ended keeps its output open through a child of its own at most this long. */
const outputGraceMs = 500

/**
 * Runs a program that is not ours in a process group of its own, in an environment that is only what is given, and never more of its
 * output than allowed. Any exit is a result; throws ExecError (`not-found`, `failed`) only where it cannot be started.
 */
export async function runCaptured(
  file: string,
  args: readonly string[],
  options: CaptureOptions,
): Promise<CapturedRun> {
  if (options.signal?.aborted) return { endedBy: 'caller', exitCode: undefined, stdout: '', stderr: '', durationMs: 0 }
  const startedMs = performance.now()
  const child = spawnGroup(file, args, options)
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  let endedBy: CapturedRun['endedBy'] = 'exit'
  const end = (why: CapturedRun['endedBy']): void => {
    if (endedBy === 'exit') endedBy = why
    if (child.pid !== undefined) killGroup(child.pid, 'SIGKILL')
  }
  const stdout = new BoundedText(child.stdout, options.maxOutputBytes, () => end('output'))
  const stderr = new BoundedText(child.stderr, options.maxOutputBytes, () => end('output'))
  const timer = setTimeout(() => end('timeout'), options.timeoutMs)
  const onAbort = (): void => end('caller')
  options.signal?.addEventListener('abort', onAbort, { once: true })
  child.once('error', (cause: NodeJS.ErrnoException) => {
    reject(explainStartFailure([file, ...args].join(' '), { code: cause.code, cause }))
  })
  child.once('exit', (code) => {
    const closing = setTimeout(() => resolve(code ?? undefined), outputGraceMs)
    child.once('close', () => {
      clearTimeout(closing)
      resolve(code ?? undefined)
    })
  })
  // A program may end without having read its input.
  child.stdin?.on('error', () => {})
  child.stdin?.end(options.input)
  try {
    const exitCode = await promise
    const durationMs = performance.now() - startedMs
    return { endedBy, exitCode, stdout: stdout.text(), stderr: stderr.text(), durationMs, pid: child.pid }
  } finally {
    clearTimeout(timer)
    options.signal?.removeEventListener('abort', onAbort)
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
  }
}

/** Some failures to start are thrown (EACCES, E2BIG) and some are told by event. */
function spawnGroup(file: string, args: readonly string[], { env, cwd }: CaptureOptions): ChildProcess {
  try {
    return spawn(file, args, { env, cwd, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
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
  readonly #chunks: Buffer[] = []

  constructor(stream: NodeJS.ReadableStream | null, maxBytes: number, onTooMuch: () => void) {
    let bytes = 0
    stream?.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > maxBytes) onTooMuch()
      else this.#chunks.push(chunk)
    })
    stream?.on('error', () => {})
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8')
  }
}
