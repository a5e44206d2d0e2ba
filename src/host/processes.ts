import { readFileSync } from 'node:fs'
import { runProgram } from './exec.ts'

/** One process for good: the kernel gives a pid again, but not with the same start time (clock ticks since boot). */
export interface ProcessIdentity {
  readonly pid: number
  readonly startTicks: number
}

/** Undefined for a process that is gone or has ended and waits to be collected. */
export function findProcess(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid)
  if (stat === undefined) return undefined
  // The name in brackets may hold anything; the fields after it are plain (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, startTicks] = [fields[0], Number(fields[19])]
  return state === 'Z' || state === 'X' ? undefined : { pid, startTicks }
}

export function isAlive({ pid, startTicks }: ProcessIdentity): boolean {
  return findProcess(pid)?.startTicks === startTicks
}

/** False where that very process is gone. */
export function signalProcess(process_: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isAlive(process_) && send(process_.pid, signal)
}

/** The same for a process that leads a group, and everything in that. */
export function signalGroup(leader: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isAlive(leader) && send(-leader.pid, signal)
}

/** Starts a program in a session of its own that is nobody's child: it outlives this process, however that ends. */
export async function startDetached(
  file: string,
  args: readonly string[],
  options: { readonly env: Readonly<Record<string, string>> },
): Promise<void> {
  // A pipe that the program holds would keep `setsid` from ending for us, so it gets none: its output is its own business.
  const quiet = ['--fork', 'sh', '-c', 'exec "$@" </dev/null >/dev/null 2>&1', 'sh']
  await runProgram('setsid', [...quiet, file, ...args], { env: options.env, timeoutMs: 10_000 })
}

function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ESRCH') return false
    throw thrown
  }
}

function readStat(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
}
