import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { StartPiped } from './capture.ts'
import { commandOf, environmentOf } from './command.ts'
import { explainStartFailure } from './exec-error.ts'
import { killGroup } from './kill-group.ts'
import type { BackgroundOptions, ProgramExit, RunningProgram } from './options.ts'

interface Spawned {
  readonly child: ChildProcess
  readonly pid: number
  readonly exited: Promise<ProgramExit>
}

/** Starts a program that stays, and resolves once it runs. Throws ExecError (`not-found`, `failed`) if it cannot be started. */
export async function startInBackground(
  file: string,
  args: readonly string[],
  options: BackgroundOptions,
): Promise<RunningProgram> {
  const { cwd, stdin = 'ignore', stdout = 'ignore', stderr = 'ignore', ipc = false } = options
  const stdio: StdioOptions = [stdin, stdout, stderr, ipc ? 'ipc' : 'ignore']
  const [program, ...words] = commandOf(file, args, options)
  const { child, pid, exited } = await spawnGroup(program, words, { env: environmentOf(options), cwd, stdio })
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

/** Starts a program with pipes by Node's own spawn. */
export const spawnPiped: StartPiped = async (file, args, place) => {
  const { child, pid, exited } = await spawnGroup(file, args, { ...place, stdio: 'pipe' })
  const { stdin, stdout, stderr } = child
  if (stdin === null || stdout === null || stderr === null) throw new Error('a child without pipes')
  return { pid, stdin, stdout, stderr, exited: exited.then(({ exitCode }) => exitCode) }
}

/** Starts a program as the leader of a process group. Node's spawn throws some failures (EACCES, E2BIG) and emits others as events. */
async function spawnGroup(
  file: string,
  args: readonly string[],
  options: { readonly env: NodeJS.ProcessEnv; readonly cwd: string | undefined; readonly stdio: StdioOptions },
): Promise<Spawned> {
  try {
    const child = spawn(file, args, { ...options, detached: true })
    const exited = new Promise<ProgramExit>((resolve) =>
      child.once('exit', (code, signal) => resolve({ exitCode: code ?? undefined, signal: signal ?? undefined })),
    )
    // Later errors are those of messages, which reject where they are sent.
    child.on('error', () => {})
    await once(child, 'spawn')
    if (child.pid === undefined) throw new Error('a child without a pid')
    return { child, pid: child.pid, exited }
  } catch (thrown) {
    throw explainStartFailure([file, ...args].join(' '), thrown)
  }
}

function sendMessage(channel: ChildProcess, message: object): Promise<void> {
  return new Promise((resolve, reject) => {
    if (channel.send === undefined || !channel.connected) return reject(new Error('the message channel is closed'))
    channel.send(message, (error) => (error === null ? resolve() : reject(error)))
  })
}
