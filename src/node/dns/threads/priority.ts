import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/** The nice value of a serving thread. It runs for microseconds at a time and then waits, so it starves no other. */
const servingNice = -10

/**
 * Gives the calling thread precedence over the others of this process while all processors are busy, for example with a list of 10,000 Services.
 * That takes CAP_SYS_NICE. Returns whether the thread has precedence.
 */
export function raiseThreadPriority(): boolean {
  try {
    // `PID/task/TID`. Where /proc belongs to another PID namespace, these numbers mean other threads.
    const [pid, , tid] = readlinkSync('/proc/thread-self').split('/').map(Number)
    if (pid !== process.pid || tid === undefined) return false
    setPriority(tid, servingNice)
    return true
  } catch {
    return false
  }
}
