import { readdirSync, readFileSync } from 'node:fs'
import { type Run, runProgram } from './programs/index.ts'

/** Identifies one process: the kernel reuses a pid, but not with the same start time (clock ticks since boot). */
export interface ProcessIdentity {
  readonly pid: number
  readonly startTicks: number
}

/** A process that leads a process group of its own. */
export interface GroupLeader extends ProcessIdentity {
  readonly environment: ReadonlyMap<string, string>
}

/** Reads a process; undefined for one that does not exist or is a zombie. */
export function findProcess(pid: number): ProcessIdentity | undefined {
  const { state, startTicks } = readStat(pid) ?? {}
  return startTicks === undefined || state === 'Z' || state === 'X' ? undefined : { pid, startTicks }
}

/** Finds processes that lead a process group, have no terminal and were started with this variable; without this process. */
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

/** Signals a process; false if that process no longer exists. */
export function signalProcess(process_: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isAlive(process_) && send(process_.pid, signal)
}

/** Signals the process group of its leader; false if that leader no longer exists. */
export function signalGroup(leader: ProcessIdentity, signal: NodeJS.Signals): boolean {
  return isAlive(leader) && send(-leader.pid, signal)
}

/** Starts a program in a session of its own with init as its parent: it outlives this process, however that ends. */
export async function startDetached(
  file: string,
  args: readonly string[],
  options: { readonly env: Readonly<Record<string, string>> },
  run: Run = runProgram,
): Promise<void> {
  // The program gets no pipe, because an open one would delay the end of `setsid`; it redirects its output itself.
  const quiet = ['--fork', 'sh', '-c', 'exec "$@" </dev/null >/dev/null 2>&1', 'sh']
  await run('setsid', [...quiet, file, ...args], { env: options.env, timeoutMs: 10_000 })
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

/** Reads the environment with which the process started; empty for a process of another user or one that is gone. */
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
