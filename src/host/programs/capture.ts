import type { Readable, Writable } from 'node:stream'
import { commandOf, defaultMaxOutputBytes, environmentOf } from './command.ts'
import { explainFailure } from './exec-error.ts'
import { killGroup } from './kill-group.ts'
import type { ProgramResult, RunOptions } from './options.ts'

/** A running program that leads a process group of its own, and our ends of its pipes. */
interface PipedProgram {
  readonly pid: number
  readonly stdin: Writable
  readonly stdout: Readable
  readonly stderr: Readable
  /** Resolves with its exit code, undefined if a signal ended it. */
  readonly exited: Promise<number | undefined>
}

/** Starts a program with pipes; `env` is its whole environment. Throws ExecError (`not-found`, `failed`) if it cannot be started. */
export type StartPiped = (
  file: string,
  args: readonly string[],
  place: { readonly env: Readonly<Record<string, string>>; readonly cwd: string | undefined },
) => Promise<PipedProgram>

/** Time to wait for the end of the output after the program's exit; a child of it may hold the pipe open. */
const outputGraceMs = 500

/** Runs a program that `start` starts to its end, like `runProgram`; what ends it early kills its process group. */
export async function captureProgram(
  start: StartPiped,
  file: string,
  args: readonly string[],
  options: RunOptions,
): Promise<ProgramResult> {
  const command = commandOf(file, args, options)
  const result = await capture(start, command, options)
  const isSuccess = result.endedBy === 'exit' && result.exitCode === 0
  if (isSuccess || options.untrusted === true) return result
  throw explainFailure(command.join(' '), result, options.timeoutMs)
}

async function capture(
  start: StartPiped,
  [file, ...args]: ReturnType<typeof commandOf>,
  options: RunOptions,
): Promise<ProgramResult> {
  const { signal, cwd, maxOutputBytes = defaultMaxOutputBytes, completionMarker } = options
  if (signal?.aborted) return { endedBy: 'caller', exitCode: undefined, stdout: '', stderr: '', durationMs: 0 }
  const startedMs = performance.now()
  const program = await start(file, args, { env: environmentOf(options), cwd })
  const { pid, stdin } = program
  let endedBy: ProgramResult['endedBy'] = 'exit'
  const end = (why: ProgramResult['endedBy']): void => {
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
  stdin.end(options.input ?? '')
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
