import { linkSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProcess, isAlive, type ProcessIdentity } from '../../host/index.ts'
import type { ContainerState } from './plan.ts'

/** The time in which a shim must have claimed its run. */
const shimDeadlineMs = 10_000
/** The limit for the shim of an earlier agent, which was probably killed together with that agent. A late shim finds its run claimed and ends. */
const earlierShimDeadlineMs = 1000

/** Takes the place of the shim in a run that must not start. */
const claimed: ProcessIdentity = { pid: 0, startTicks: 0 }

/**
 * Reads the state of a run from its files, which the shim and the container's first process write, and from the processes that they name.
 * `isRunning`: replaced in tests.
 */
export function readRun(folder: string, nowMs: number, isRunning = isAlive): ContainerState {
  const exit = readNumbers(join(folder, 'exit'))
  const startedAtMs = modifiedMs(join(folder, 'shim')) ?? nowMs
  if (exit !== undefined) return endOf(exit, startedAtMs)
  const folderMs = modifiedMs(folder)
  if (folderMs === undefined) return { kind: 'none' }
  const shim = readIdentity(join(folder, 'shim'))
  if (shim === undefined) {
    const isOurs = folderMs >= performance.timeOrigin
    const isOverdue = nowMs - folderMs > (isOurs ? shimDeadlineMs : earlierShimDeadlineMs)
    return isOverdue && claimRun(folder) ? { kind: 'none' } : { kind: 'starting' }
  }
  if (shim.pid === claimed.pid) return { kind: 'none' }
  const program = findProgram(folder)
  if (program !== undefined && isRunning(program)) return { kind: 'running', startedAtMs }
  // A living shim will write how the container ended.
  if (isRunning(shim)) return program === undefined ? { kind: 'starting' } : { kind: 'running', startedAtMs }
  return endOfEndedShim(folder, startedAtMs)
}

/** Finds the first process of the container by its pid on the host. */
export function findProgram(folder: string): ProcessIdentity | undefined {
  const own = readIdentity(join(folder, 'pid'))
  if (own !== undefined) return own
  const pid = readNumbers(join(folder, 'crun.pid'))?.[0]
  return pid === undefined ? undefined : findProcess(pid)
}

export function findShim(folder: string): ProcessIdentity | undefined {
  return readIdentity(join(folder, 'shim'))
}

/** Claims the run in place of a shim. True means that no shim has claimed it and none can any more. */
export function claimRun(folder: string): boolean {
  const claim = join(folder, 'claim')
  try {
    writeFileSync(claim, `${claimed.pid} ${claimed.startTicks}\n`)
    linkSync(claim, join(folder, 'shim'))
    return true
  } catch {
    return false
  } finally {
    rmSync(claim, { force: true })
  }
}

function endOf([exitCode, seconds = 0, oomKills = 0]: readonly number[], startedAtMs: number): ContainerState {
  const finishedAtMs = Math.max(startedAtMs, seconds * 1000)
  return { kind: 'exited', exitCode, startedAtMs, finishedAtMs, ...(oomKills > 0 && { isOutOfMemory: true }) }
}

/** A shim that has ended may have written how the container ended after the files were first looked at. */
function endOfEndedShim(folder: string, startedAtMs: number): ContainerState {
  const exit = readNumbers(join(folder, 'exit'))
  if (exit !== undefined) return endOf(exit, startedAtMs)
  return { kind: 'exited', exitCode: undefined, startedAtMs, finishedAtMs: lastChangeMs(folder, startedAtMs) }
}

function lastChangeMs(folder: string, startedAtMs: number): number {
  return Math.max(startedAtMs, modifiedMs(folder) ?? startedAtMs)
}

function readIdentity(file: string): ProcessIdentity | undefined {
  const [pid, startTicks] = readNumbers(file) ?? []
  return pid === undefined || startTicks === undefined ? undefined : { pid, startTicks }
}

/** Returns undefined for a missing file and for other content. */
function readNumbers(file: string): number[] | undefined {
  try {
    const words = readFileSync(file, 'utf8').trim().split(' ')
    return words.every((word) => /^\d{1,15}$/.test(word)) ? words.map(Number) : undefined
  } catch {
    return undefined
  }
}

function modifiedMs(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs
}
