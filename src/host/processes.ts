import { readdirSync, readFileSync } from 'node:fs'
import { runProgram } from './exec.ts'

/** One process for good: the kernel gives a pid again, but not with the same start time (clock ticks since boot). */
export interface ProcessIdentity {
  readonly pid: number
  readonly startTicks: number
}

/** A process as a program started it that puts each one in a group of its own. */
export interface GroupLeader extends ProcessIdentity {
  readonly environment: ReadonlyMap<string, string>
}

/** Undefined for a process that is gone or has ended and waits to be collected. */
export function findProcess(pid: number): ProcessIdentity | undefined {
  const { state, startTicks } = readStat(pid) ?? {}
  return startTicks === undefined || state === 'Z' || state === 'X' ? undefined : { pid, startTicks }
}

/** Those that lead a process group, have no terminal, and were started with this variable; this process is not among them. */
export function findGroupLeaders(variable: string): GroupLeader[] {
  const pids = readdirSync('/proc').filter((name) => /^[1-9]\d*$/.test(name))
  return pids.map(Number).flatMap((pid) => {
    const stat = readStat(pid)
    if (stat === undefined || stat.group !== pid || stat.terminal !== 0 || pid === process.pid) return []
    const environment = readEnvironment(pid)
    return environment.has(variable) ? [{ pid, startTicks: stat.startTicks, environment }] : []
  })
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

interface Stat {
  readonly state: string
  readonly group: number
  /** 0 for none. */
  readonly terminal: number
  readonly startTicks: number
}

function readStat(pid: number): Stat | undefined {
  const stat = readText(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  // The name in brackets may hold anything; the fields after it are plain (proc(5)).
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state = '', , group, , terminal] = fields
  return { state, group: Number(group), terminal: Number(terminal), startTicks: Number(fields[19]) }
}

/** As the process was started; empty where it is somebody else's, or gone. */
export function readEnvironment(pid: number): Map<string, string> {
  const pairs = (readText(`/proc/${pid}/environ`) ?? '').split('\0').filter((pair) => pair.includes('='))
  return new Map(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]))
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
