import type { ExecaError } from 'execa'
import { captureProgram } from './capture.ts'
import { commandOf, defaultMaxOutputBytes, environmentOf } from './command.ts'
import { type ExecError, explainFailure, explainStartFailure } from './exec-error.ts'
import type { BackgroundOptions, ProgramResult, RunningProgram, RunOptions } from './options.ts'
import { spawnPiped, startInBackground } from './spawn-group.ts'

/**
 * Runs a program without a shell: to its end, or in the background, where it resolves once the program runs. Throws
 * ExecError if it cannot be started and, for a trusted program that is run to its end, unless it exits 0.
 */
export async function runProgram(
  file: string,
  args: readonly string[],
  options: BackgroundOptions,
): Promise<RunningProgram>
export async function runProgram(file: string, args: readonly string[], options: RunOptions): Promise<ProgramResult>
export async function runProgram(
  file: string,
  args: readonly string[],
  options: RunOptions | BackgroundOptions,
): Promise<ProgramResult | RunningProgram> {
  if ('background' in options) return startInBackground(file, args, options)
  const needsCapture = options.untrusted === true || options.completionMarker !== undefined
  return needsCapture ? captureProgram(spawnPiped, file, args, options) : runByExeca(file, args, options)
}

async function runByExeca(file: string, args: readonly string[], options: RunOptions): Promise<ProgramResult> {
  const [program, ...words] = commandOf(file, args, options)
  // Loaded with the first program: it takes 8 MiB, which neither a server nor an agent needs.
  const library = await import('execa')
  try {
    const running = library.execa(program, words, {
      env: environmentOf(options),
      extendEnv: false,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      input: options.input ?? '',
      timeout: options.timeoutMs,
      maxBuffer: options.maxOutputBytes ?? defaultMaxOutputBytes,
      forceKillAfterDelay: 1000,
      stripFinalNewline: false,
      ...(options.signal === undefined ? {} : { cancelSignal: options.signal }),
    })
    const { stdout, stderr, durationMs } = await running
    return { endedBy: 'exit', stdout, stderr, exitCode: 0, durationMs, pid: running.pid }
  } catch (thrown) {
    throw thrown instanceof library.ExecaError
      ? explain([program, ...words].join(' '), thrown, options.timeoutMs)
      : thrown
  }
}

function explain(command: string, error: ExecaError, timeoutMs: number): ExecError {
  const { exitCode, signal, cause, timedOut, isCanceled, isMaxBuffer, isTerminated } = error
  const endedBy = timedOut ? 'timeout' : isCanceled ? 'caller' : isMaxBuffer ? 'output' : 'exit'
  if (endedBy === 'exit' && exitCode === undefined && !isTerminated) return explainStartFailure(command, cause)
  const stderr = typeof error.stderr === 'string' ? error.stderr : ''
  return explainFailure(command, { endedBy, exitCode, stderr, signal, cause }, timeoutMs)
}
