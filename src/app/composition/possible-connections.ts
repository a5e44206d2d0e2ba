import { readFileSync } from 'node:fs'
import { hasDefaultConnections, type ingressSettings } from '../../node/ingress/index.ts'
import type { Logger } from '../../observe/index.ts'

/** Files that haproxy opens beside those of connections. */
const ownFiles = 1_000

/** The connections that haproxy can have: each needs two files, and it does not start where it may not open as many. */
export function possibleConnections(limits: string = readFileSync('/proc/self/limits', 'utf8')): number {
  const [, hard = ''] = /^Max open files\s+\S+\s+(\d+)/m.exec(limits) ?? []
  return hard === '' ? Number.POSITIVE_INFINITY : Math.max(100, Math.floor((Number(hard) - ownFiles) / 2))
}

/** Lowers the number of connections to what is possible; logs a warning where an operator asked for more. */
export function boundConnections(limits: IngressLimits, possible: number, log: Logger): IngressLimits {
  const maxConnections = Math.min(limits.maxConnections, possible)
  const level = hasDefaultConnections(limits) ? 'info' : 'warn'
  if (maxConnections < limits.maxConnections)
    log[level]('the limit of open files allows fewer connections than --ingress-max-connections', { maxConnections })
  return { ...limits, maxConnections }
}

type IngressLimits = ReturnType<typeof ingressSettings>['limits']
