import { readFileSync } from 'node:fs'

/** The kernel's unit of processor time (USER_HZ), in ms. */
const tickMs = 10

/** Returns the processor time of a process so far, in ms, all its threads included. Throws where it has ended. */
export function processorMs(pid: number | string): number {
  return sumOfTicks(pid, 2)
}

/** Returns the processor time of several processes so far, in seconds. */
export function processorSeconds(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + processorMs(pid), 0) / 1000
}

/** Returns the processor time of a process and of its children that have ended: what a restore costs counts. */
export function processorMsWithChildren(pid: number | string): number {
  return sumOfTicks(pid, 4)
}

/** Adds up utime, stime, cutime and cstime (proc_pid_stat(5)); the name before them may hold anything. */
function sumOfTicks(pid: number | string, fields: 2 | 4): number {
  const first = 11
  const ticks = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
    .slice(first, first + fields)
  return ticks.reduce((sum, each) => sum + Number(each), 0) * tickMs
}
