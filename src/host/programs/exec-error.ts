import { constants } from 'node:os'
import { PlatnetError } from '../../model/errors.ts'
import type { ProgramResult } from './options.ts'

export type ExecErrorCode = 'not-found' | 'failed' | 'timeout' | 'killed'

/** A program that could not be started, exited other than 0, took too long, or was ended by a signal or by its caller. */
export class ExecError extends PlatnetError<ExecErrorCode> {
  readonly command: string
  /** Exit code; undefined if the program never started or a signal ended it. */
  readonly exitCode: number | undefined
  /** The last 4,096 characters of its standard error. */
  readonly stderr: string

  constructor(code: ExecErrorCode, message: string, details: ExecErrorDetails) {
    super(code, message, details)
    this.command = details.command
    this.exitCode = details.exitCode
    this.stderr = details.stderr.slice(-4096)
  }
}

interface ExecErrorDetails {
  readonly command: string
  readonly exitCode: number | undefined
  readonly stderr: string
  readonly remedy?: string
  readonly cause?: unknown
}

/** A failed end of a program that ran; without an exit code a signal ended it. */
interface FailedEnd extends Pick<ProgramResult, 'endedBy' | 'exitCode' | 'stderr'> {
  readonly signal?: string | undefined
  readonly cause?: unknown
}

/** Builds the error of a program that ran and did not exit with 0. */
export function explainFailure(command: string, end: FailedEnd, timeoutMs: number): ExecError {
  const { endedBy, exitCode, cause } = end
  const stderr = end.stderr.trim()
  const details = { command, exitCode, stderr, cause }
  if (endedBy === 'timeout') return new ExecError('timeout', `${command} was ended after ${timeoutMs} ms`, details)
  const killer = killerOf(end)
  if (killer !== undefined) return new ExecError('killed', `${command} was ended by ${killer}`, details)
  const said = stderr === '' ? '' : `: ${stderr.slice(-1024).replaceAll(/\s*\n\s*/g, '; ')}`
  return new ExecError('failed', `${command} exited with ${exitCode}${said}`, details)
}

function killerOf({ endedBy, exitCode, signal = 'a signal' }: FailedEnd): string | undefined {
  if (endedBy === 'caller') return 'its caller'
  if (endedBy === 'output') return 'us: it printed too much'
  if (exitCode === undefined) return signal
  // A wrapper such as `ip netns exec` reports a signal as 128 + n.
  const isSignal = exitCode > 128 && exitCode <= 128 + constants.signals.SIGTERM
  return isSignal ? `signal ${exitCode - 128}` : undefined
}

/** Builds the error of a program that did not start: it is missing or not executable. */
export function explainStartFailure(command: string, cause: unknown): ExecError {
  const details = { command, exitCode: undefined, stderr: '', cause }
  if (!hasCode(cause, 'ENOENT')) return new ExecError('failed', `${command} could not be started`, details)
  const program = command.split(' ', 1)[0]
  const remedy = `install the package that holds ${program}, or check PATH and the working directory`
  return new ExecError('not-found', `${program} was not found`, { ...details, remedy })
}

/** Tells whether a program did not start because its file is being written (ETXTBSY, execve(2)). */
export function isTextBusy(thrown: unknown): boolean {
  return thrown instanceof ExecError && hasCode(thrown.cause, 'ETXTBSY')
}

function hasCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === code
}
