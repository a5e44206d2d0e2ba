import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * Builds a name that no other process of any machine has: `host_boot_namespace_pid_uuid`. On the same machine `isGone` decides from it whether the process still exists.
 */
export function nameProcess(pid = process.pid): string {
  return [hostname(), readPlace(), pid, randomUUID()].join('_')
}

/**
 * Tells whether the process of that name is certainly gone: it ran since this machine's last boot in this pid namespace, and no process has its pid. False for any other name: the state of a
 * process elsewhere is unknown, and a reused pid or a zombie may be the process itself.
 */
export function isGone(name: string): boolean {
  const [, place, pid] = /_([0-9a-f-]{36}_\d+)_(\d+)_[0-9a-f-]{36}$/.exec(name) ?? []
  return place !== undefined && place === readPlace() && !isGiven(Number(pid))
}

/** Identifies the scope of a pid: one boot of one kernel, and one pid namespace. */
function readPlace(): string {
  try {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0'
    return `${bootId}_${namespace}`
  } catch {
    // Without this scope each name is unique, so that no process counts as gone.
    return `${randomUUID()}_0`
  }
}

/** Asks the kernel with signal 0, because /proc may hide processes of other users. */
function isGiven(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}
