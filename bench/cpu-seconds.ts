import { readFileSync } from 'node:fs'

/** The kernel's unit of processor time (USER_HZ). */
const ticksPerSecond = 100

/** Returns the processor time of processes so far, all their threads included (proc_pid_stat(5): utime and stime). */
export function cpuSecondsOf(pids: readonly number[]): number {
  const ticks = pids.reduce((sum, pid) => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')
    return sum + Number(fields[11]) + Number(fields[12])
  }, 0)
  return ticks / ticksPerSecond
}
