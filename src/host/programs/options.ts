import type { Readable, Writable } from 'node:stream'

interface ProgramOptions {
  /** Added to this process' own environment; the whole environment of an untrusted program. */
  readonly env?: Readonly<Record<string, string>>
  /** This process' own unless given. */
  readonly cwd?: string | undefined
  /** Name of the network namespace to run in (/run/netns); this process' own unless given. */
  readonly netns?: string
}

/** Options of a program that is run to its end. */
export interface RunOptions extends ProgramOptions {
  /** Written to standard input, which is then closed. Without it the program reads an empty one. */
  readonly input?: string
  /**
   * Time limit: SIGTERM at this age, SIGKILL a second later. A program that leads a process group of its own, which is
   * an untrusted one, one with a completion marker and each of `createFastRun`, gets SIGKILL at once, with its group.
   */
  readonly timeoutMs: number
  /** Limit of standard output and of standard error; more output kills the program. 256 MiB unless given. */
  readonly maxOutputBytes?: number
  /** Kills the program when it aborts. */
  readonly signal?: AbortSignal
  /** Completion marker: the program has succeeded once its standard output contains this text; the result does not wait for its exit. */
  readonly completionMarker?: string | undefined
  /**
   * The program is not ours: it gets `env` and no other variable, a kill reaches all that it started, and the run
   * resolves with any end of it, where it otherwise rejects unless the exit code is 0.
   */
  readonly untrusted?: boolean
}

/** The end of a program that was run. */
export interface ProgramResult {
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

/**
 * Runs a program to its end: `runProgram`, what `createFastRun` returns, or a variant of them. Throws ExecError unless it exits 0; for an untrusted program only if it cannot be started.
 */
export type Run = (file: string, args: readonly string[], options: RunOptions) => Promise<ProgramResult>

type ProgramStdio = 'ignore' | 'pipe' | 'inherit' | number

/** Options of a program that stays. */
export interface BackgroundOptions extends ProgramOptions {
  /** The result is the running program, not its end. */
  readonly background: true
  /** Each is `ignore` unless given; a number is an open file descriptor. A pipe must be read, or the program stalls. */
  readonly stdin?: ProgramStdio
  readonly stdout?: ProgramStdio
  readonly stderr?: ProgramStdio
  /** Opens a JSON message channel; the program uses `process.send` and `process.on('message')`. */
  readonly ipc?: boolean
}

/** The end of a program that ran in the background. */
export interface ProgramExit {
  readonly exitCode: number | undefined
  readonly signal: string | undefined
}

/** A program in the background, which leads a process group of its own and outlives this process unless it is killed. */
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
