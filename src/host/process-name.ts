import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * A name no other process of any machine has: `host_boot_namespace_pid_uuid`. Who reads it on the same machine can tell whether the process still is, see `isGone`.
 */
export function nameProcess(pid = process.pid): string {
  return [hostname(), readPlace(), pid, randomUUID()].join('_')
}

/**
 * Whether the process of that name is certainly gone: it ran since this machine's last start among the pids that we see, and there is none of its number. False for any other name: of a process
 * elsewhere nothing is known, and a number that was given again, or waits to be collected, may be its own.
 */
export function isGone(name: string): boolean {
  const [, place, pid] = /_([0-9a-f-]{36}_\d+)_(\d+)_[0-9a-f-]{36}$/.exec(name) ?? []
  return place !== undefined && place === readPlace() && !isGiven(Number(pid))
}

/** Where pids mean the same: one start of one kernel, and a pid namespace in it. */
function readPlace(): string {
  try {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0'
    return `${bootId}_${namespace}`
  } catch {
    // A name of its own each time: nobody is found to be gone.
    return `${randomUUID()}_0`
  }
}

/** Asked of the kernel and not of /proc, which may hide the processes of others. */
function isGiven(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}
