import { readFileSync } from 'node:fs'

/** Files that haproxy opens beside those of connections. */
const ownFiles = 1_000

/** The connections that haproxy can have: each needs two files, and it does not start where it may not open as many. */
export function possibleConnections(limits: string = readFileSync('/proc/self/limits', 'utf8')): number {
  const [, hard = ''] = /^Max open files\s+\S+\s+(\d+)/m.exec(limits) ?? []
  return hard === '' ? Number.POSITIVE_INFINITY : Math.max(100, Math.floor((Number(hard) - ownFiles) / 2))
}
