import type { Ip } from '../../model/ip.ts'
import type { Logger, Metrics } from '../../observe/index.ts'
import { createRouter, type TextAnswer } from '../../serve/index.ts'
import { collectedMetrics } from './metric-specs.ts'
import { PatientListener } from './patient-listener.ts'
import type { ProxyFreshness } from './view.ts'

export interface ProxyHealthzParts {
  readonly address: Ip
  readonly port: number
  readonly freshness: () => readonly ProxyFreshness[]
  /** False where load balancers are to send nothing to this node any more. */
  readonly isNodeEligible: () => boolean
  readonly metrics: Metrics
  readonly log: Logger
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** A change that waits longer than this means that this proxy does not do its work. */
const staleAfterMs = 60_000

/** Whether every family wrote what it was asked to within the last minute. */
export function isFresh(families: readonly ProxyFreshness[], nowMs: number): boolean {
  return families.every(({ pendingSinceMs }) => pendingSinceMs === undefined || nowMs - pendingSinceMs < staleAfterMs)
}

/**
 * `/healthz` (is this node fit to get traffic from load balancers?) and `/livez` (does the proxy do its work, whatever becomes of the
 * node?) with kube-proxy's answers.
 */
export function createProxyHealthz(parts: ProxyHealthzParts): PatientListener {
  const { address, port, log } = parts
  const count = createCounters(parts.metrics)
  const handler = createRouter(
    {
      '/healthz': () => count.healthz(answerHealth(parts, parts.isNodeEligible())),
      '/livez': () => count.livez(answerHealth(parts, undefined)),
    },
    (error, path) => log.error('a health request failed', { path, error }),
  )
  return new PatientListener({
    name: 'proxy-healthz',
    address,
    port,
    portOption: '--proxy-healthz-port',
    handler,
    log,
  })
}

/**
 * `healthy` is the proxy's own health, whatever becomes of the node; the status tells of both. `lastUpdated` of a healthy proxy is now:
 * nothing has happened since that it does not know of.
 */
function answerHealth({ freshness, now = Date.now }: ProxyHealthzParts, nodeEligible: boolean | undefined): TextAnswer {
  const nowMs = now()
  const families = freshness()
  const healthy = isFresh(families, nowMs)
  const lastSyncMs = Math.max(0, ...families.map(({ lastSyncMs: atMs = 0 }) => atMs))
  const body = {
    lastUpdated: new Date(healthy ? nowMs : lastSyncMs).toISOString(),
    currentTime: new Date(nowMs).toISOString(),
    ...(nodeEligible !== undefined && { nodeEligible }),
    healthy,
    status: Object.fromEntries(families.map((family) => [family.family, describeFamily(family, nowMs)])),
  }
  return {
    status: healthy && nodeEligible !== false ? 200 : 503,
    contentType: 'application/json',
    body: JSON.stringify(body),
  }
}

function describeFamily(
  family: ProxyFreshness,
  nowMs: number,
): { readonly lastUpdated: string; readonly healthy: boolean } {
  return { lastUpdated: new Date(family.lastSyncMs ?? 0).toISOString(), healthy: isFresh([family], nowMs) }
}

function createCounters(metrics: Metrics) {
  const counter = (what: 'healthz' | 'livez') => {
    const total = metrics.counter(collectedMetrics[what])
    return (answer: TextAnswer): TextAnswer => {
      total.add(1, { code: String(answer.status) })
      return answer
    }
  }
  return {
    healthz: counter('healthz'),
    livez: counter('livez'),
  }
}
