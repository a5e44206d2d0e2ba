import { type ChildProcess, spawn } from 'node:child_process'
import { constants } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import type { ExecaError } from 'execa'
import { PlatnetError } from '../model/errors.ts'

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
  readonly cause: unknown
}

export interface ProgramOptions {
  /** Added to this process' own environment. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface RunOptions extends ProgramOptions {
  /** Written to standard input, which is then closed. Without it the program reads an empty one. */
  readonly input?: string
  /** Time limit: SIGTERM at this age, SIGKILL a second later. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Completion marker: the program has succeeded once its standard output contains this text; the result does not wait for its exit. */
  readonly completionMarker?: string | undefined
}

export interface ProgramResult {
  readonly stdout: string
  readonly stderr: string
  readonly exitCode: 0
  readonly durationMs: number
  readonly pid: number | undefined
}

/** Runs a program to its end, without a shell. Throws ExecError unless it exits 0. */
export async function runProgram(file: string, args: readonly string[], options: RunOptions): Promise<ProgramResult> {
  const command = [file, ...args].join(' ')
  // Loaded with the first program, because an API server alone runs none.
  const library = await import('execa')
  try {
    const program = library.execa(file, args, {
      ...commonOptions(options),
      input: options.input ?? '',
      timeout: options.timeoutMs,
      forceKillAfterDelay: 1000,
      stripFinalNewline: false,
      ...(options.signal === undefined ? {} : { cancelSignal: options.signal }),
    })
    const { stdout, stderr, durationMs } = await program
    return { stdout, stderr, exitCode: 0, durationMs, pid: program.pid }
  } catch (thrown) {
    throw thrown instanceof library.ExecaError ? explainFailure(command, endOf(thrown), options.timeoutMs) : thrown
  }
}

type ProgramStdio = 'ignore' | 'pipe' | 'inherit' | number

export interface StartOptions extends ProgramOptions {
  /** Each is `ignore` unless given; a number is an open file descriptor. A pipe must be read, or the program stalls. */
  readonly stdin?: ProgramStdio
  readonly stdout?: ProgramStdio
  readonly stderr?: ProgramStdio
  /** Opens a JSON message channel; the program uses `process.send` and `process.on('message')`. */
  readonly ipc?: boolean
}

export interface ProgramExit {
  readonly exitCode: number | undefined
  readonly signal: string | undefined
}

/** A started program, which leads a process group of its own and outlives this process unless it is killed. */
export interface RunningProgram {
  readonly pid: number
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  /** Never rejects. */
  readonly exited: Promise<ProgramExit>
  /** Signals the process group of the program; does nothing once the group is gone. */
  kill(signal: NodeJS.Signals): void
  /** Sends a message over `ipc`; rejects if the program is gone. */
  send(message: Readonly<Record<string, unknown>>): Promise<void>
  onMessage(listener: (message: unknown) => void): void
}

/** Starts a program and resolves once it runs. Throws ExecError (`not-found`, `failed`) if it cannot be started. */
export async function startProgram(
  file: string,
  args: readonly string[],
  options: StartOptions = {},
): Promise<RunningProgram> {
  const { env, ...common } = commonOptions(options)
  const { stdin = 'ignore', stdout = 'ignore', stderr = 'ignore' } = options
  const child = spawn(file, args, {
    ...common,
    env: { ...process.env, ...env },
    stdio: [stdin, stdout, stderr, options.ipc === true ? 'ipc' : 'ignore'],
    detached: true,
  })
  const exited = new Promise<ProgramExit>((resolve) =>
    child.once('exit', (code, signal) => resolve({ exitCode: code ?? undefined, signal: signal ?? undefined })),
  )
  const pid = await spawnedPid(child, [file, ...args].join(' '))
  return {
    pid,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    exited,
    kill: (signal) => killGroup(pid, signal),
    send: (message) => sendMessage(child, message),
    onMessage: (listener) => void child.on('message', listener),
  }
}

function spawnedPid(child: ChildProcess, command: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      reject(explainStartFailure(command, { code: error.code, cause: error }))
    })
    child.once('spawn', () => child.pid !== undefined && resolve(child.pid))
  })
}

function sendMessage(channel: ChildProcess, message: object): Promise<void> {
  return new Promise((resolve, reject) => {
    if (channel.send === undefined || !channel.connected) return reject(new Error('the message channel is closed'))
    channel.send(message, (error) => (error === null ? resolve() : reject(error)))
  })
}

/** Signals a process group by its negative pid (kill(2)). ESRCH means that no process of it is left. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH')) throw thrown
  }
}

/** Builds the environment: messages in English, because they are parsed, and the folders of administration tools in PATH. */
export function commonOptions(options: ProgramOptions): { env: Record<string, string>; cwd?: string; shell: false } {
  const path = `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`
  return {
    env: { PATH: path, LC_ALL: 'C', ...options.env },
    shell: false,
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  }
}

/** A failed end of a program; without an exit code it never started or a signal ended it. */
export interface ProgramEnd {
  readonly endedBy: 'exit' | 'start' | 'timeout' | 'signal'
  readonly exitCode: number | undefined
  readonly stderr: string
  readonly signal?: string | undefined
  readonly code?: string | undefined
  readonly cause?: unknown
}

function endOf(error: ExecaError): ProgramEnd {
  const { exitCode, signal, code, cause, timedOut, isCanceled, isTerminated } = error
  const stderr = typeof error.stderr === 'string' ? error.stderr : ''
  const isKilled = isCanceled || isTerminated
  const endedBy = timedOut ? 'timeout' : isKilled ? 'signal' : exitCode === undefined ? 'start' : 'exit'
  return { endedBy, exitCode, stderr, signal, code, cause }
}

/** Builds the error of a program that did not exit with 0. */
export function explainFailure(command: string, end: ProgramEnd, timeoutMs: number): ExecError {
  const { endedBy, exitCode, cause } = end
  const stderr = end.stderr.trim()
  const details = { command, exitCode, stderr, cause }
  if (endedBy === 'timeout') return new ExecError('timeout', `${command} was ended after ${timeoutMs} ms`, details)
  if (endedBy === 'signal') {
    return new ExecError('killed', `${command} was ended by ${end.signal ?? 'its caller'}`, details)
  }
  if (exitCode === undefined) return explainStartFailure(command, end)
  // A wrapper such as `ip netns exec` reports a signal as 128 + n.
  if (exitCode > 128 && exitCode <= 128 + constants.signals.SIGTERM) {
    return new ExecError('killed', `${command} was ended by signal ${exitCode - 128}`, details)
  }
  const said = stderr === '' ? '' : `: ${stderr.slice(-1024).replaceAll(/\s*\n\s*/g, '; ')}`
  return new ExecError('failed', `${command} exited with ${exitCode}${said}`, details)
}

/** Builds the error of a program that did not start: it is missing or not executable. */
export function explainStartFailure(
  command: string,
  error: { readonly cause?: unknown; readonly code?: string | undefined },
): ExecError {
  const details = { command, exitCode: undefined, stderr: '', cause: error.cause }
  if (error.code !== 'ENOENT') return new ExecError('failed', `${command} could not be started`, details)
  const program = command.split(' ', 1)[0]
  const remedy = `install the package that holds ${program}, or check PATH and the working directory`
  return new ExecError('not-found', `${program} was not found`, { ...details, remedy })
}
