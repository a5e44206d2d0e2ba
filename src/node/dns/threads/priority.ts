import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Nice value of a thread that serves: it runs for microseconds at a time and then waits, so nothing starves beside it. */
const servingNice = -10

/**
 * Lets the thread that calls this run before the others of this process when all processors are busy, as with a list of 10,000
 * Services. Without the right to do that (CAP_SYS_NICE) it takes its turn like them. Returns whether it has precedence.
 */
export function raiseThreadPriority(): boolean {
  try {
    // `PID/task/TID`; where /proc is another PID namespace's, the numbers are not ours to use.
    const [pid, , tid] = readlinkSync('/proc/thread-self').split('/').map(Number)
    if (pid !== process.pid || tid === undefined) return false
    setPriority(tid, servingNice)
    return true
  } catch {
    return false
  }
}
