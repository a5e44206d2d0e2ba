import type { IpFamily } from '../../model/ip.ts'
import { chains } from '../../netfilter/names.ts'
import type { Metrics } from '../../observe/index.ts'
import type { ChainCounters, WriteReport } from '../rules/index.ts'
import type { ChangeSet } from '../state/index.ts'
import { collectedMetrics, conntrackMetrics, syncMetrics } from './metric-specs.ts'
import { type ClaimRefusal, claimRefusals, type RefusedClaim } from './service-claims.ts'
import type { ProxyView } from './view.ts'

type SyncKind = 'full' | 'partial'

/** The metrics of one family's plane; the registry's own metrics carry the family as a label. */
export interface ProxyMetrics {
  observeSync(kind: SyncKind, durationMs: number, report: WriteReport): void
  countFailure(kind: SyncKind, mode: ProxyView['mode']): void
  /** How many Services are set aside now. */
  setSetAside(count: number): void
  /** A sync was asked for. */
  countQueued(change: Pick<ChangeSet, 'services' | 'resource'>): void
  /** The kernel has taken changes whose causes lie at these times, milliseconds since 1970. */
  observeProgramming(triggeredAtMs: readonly number[]): void
}

/**
 * The metrics of all families, made once; the result gives each family its own view. The names are kube-proxy's where it
 * has the same figure, so that existing dashboards work.
 */
export function createProxyMetrics(metrics: Metrics): (family: IpFamily) => ProxyMetrics {
  const sync = createSyncMetrics(metrics)
  const lastQueued = metrics.gauge(syncMetrics.lastQueued)
  const failures = metrics.counter(syncMetrics.failures)
  const partialFailures = metrics.counter(syncMetrics.partialFailures)
  const nftablesFailures = metrics.counter(syncMetrics.nftablesFailures)
  const changes = {
    service: metrics.counter(syncMetrics.serviceChanges),
    endpoint: metrics.counter(syncMetrics.endpointChanges),
  }
  const programming = metrics.histogram(syncMetrics.programming)
  const setAside = metrics.gauge(syncMetrics.setAside)
  return (family) => {
    const ofFamily = { ip_family: family }
    // A counter that is there from the start tells its first event as an increase.
    for (const counter of [failures, partialFailures, nftablesFailures, changes.service, changes.endpoint])
      counter.add(0, ofFamily)
    setAside.set(0, ofFamily)
    return {
      observeSync: (kind, durationMs, report) => sync(ofFamily, kind, durationMs, report),
      countFailure: (kind, mode) => {
        failures.add(1, ofFamily)
        if (kind === 'partial') partialFailures.add(1, ofFamily)
        if (mode === 'nftables') nftablesFailures.add(1, ofFamily)
      },
      setSetAside: (count) => setAside.set(count, ofFamily),
      countQueued: ({ services, resource }) => {
        lastQueued.set(Date.now() / 1000, ofFamily)
        const isOfServices = resource === undefined || resource === 'services'
        changes[isOfServices ? 'service' : 'endpoint'].add(services.size, ofFamily)
      },
      observeProgramming: (triggeredAtMs) => {
        for (const atMs of triggeredAtMs) programming.observe(Math.max(0, Date.now() - atMs) / 1000, ofFamily)
      },
    }
  }
}

/** Addresses that Services claim and that are another's, by reason; counted when asked. */
export function collectRefusedClaims(metrics: Metrics, refused: () => Iterable<readonly RefusedClaim[]>): void {
  metrics.collectedGauge(collectedMetrics.refusedClaims, () => {
    const counts = new Map<ClaimRefusal, number>(claimRefusals.map((reason) => [reason, 0]))
    for (const claims of refused()) for (const { reason } of claims) counts.set(reason, (counts.get(reason) ?? 0) + 1)
    return Array.from(counts, ([reason, value]) => ({ value, labels: { reason } }))
  })
}

function createSyncMetrics(metrics: Metrics) {
  const all = metrics.histogram(syncMetrics.duration)
  const byKind = { full: metrics.histogram(syncMetrics.full), partial: metrics.histogram(syncMetrics.partial) }
  const lastSync = metrics.gauge(syncMetrics.lastSync)
  const lastRules = metrics.gauge(syncMetrics.lastRules)
  const bytes = metrics.counter(syncMetrics.bytes)
  return (family: { readonly ip_family: IpFamily }, kind: SyncKind, durationMs: number, report: WriteReport): void => {
    all.observe(durationMs / 1000, family)
    byKind[kind].observe(durationMs / 1000, family)
    lastSync.set(Date.now() / 1000, family)
    bytes.add(report.bytes, family)
    if (report.elements !== undefined) return
    for (const table of ['nat', 'filter'] as const) lastRules.set(report.rules[table], { table, ...family })
  }
}

export interface ConntrackMetrics {
  observe(durationMs: number, deleted: number): void
}

export function createConntrackMetrics(metrics: Metrics): (family: IpFamily) => ConntrackMetrics {
  const duration = metrics.histogram(conntrackMetrics.duration)
  const deleted = metrics.counter(conntrackMetrics.deleted)
  return (family) => {
    deleted.add(0, { ip_family: family })
    duration.zero({ ip_family: family })
    return {
      observe: (durationMs, count) => {
        duration.observe(durationMs / 1000, { ip_family: family })
        deleted.add(count, { ip_family: family })
      },
    }
  }
}

/** Registers what is counted only when metrics are asked for, of all families together. */
export function collectProxyCounts(metrics: Metrics, views: readonly ProxyView[]): void {
  metrics.collectedGauge(collectedMetrics.rules, () =>
    views.flatMap((view) => {
      const { rules } = view.ruleCounts()
      if (rules === undefined) return []
      return (['nat', 'filter'] as const).map((table) => ({
        value: rules[table],
        labels: { table, ip_family: view.family },
      }))
    }),
  )
  metrics.collectedGauge(collectedMetrics.elements, () =>
    views.flatMap((view) => {
      const { elements } = view.ruleCounts()
      return elements === undefined ? [] : [{ value: elements, labels: { ip_family: view.family } }]
    }),
  )
  metrics.collectedGauge(collectedMetrics.mode, () =>
    views.map(({ mode, family }) => ({ value: 1, labels: { mode, ip_family: family } })),
  )
  metrics.collectedGauge(collectedMetrics.noLocalEndpoints, () =>
    views.flatMap((view) => {
      const counts = view.noLocalEndpointCounts()
      return (['internal', 'external'] as const).map((policy) => ({
        value: counts[policy],
        labels: { traffic_policy: policy, ip_family: view.family },
      }))
    }),
  )
  const pending = (of: 'services' | 'endpoints') => () =>
    views.map(({ pendingCounts, family }) => ({ value: pendingCounts[of], labels: { ip_family: family } }))
  metrics.collectedGauge(collectedMetrics.pendingServices, pending('services'))
  metrics.collectedGauge(collectedMetrics.pendingEndpoints, pending('endpoints'))
}

/** Asks the kernel at each scrape: what counts is its own rule. The count begins anew where that rule is written anew. */
export function collectInvalidDrops(
  metrics: Metrics,
  families: readonly { readonly family: IpFamily; readonly countersOf: (chain: string) => Promise<ChainCounters> }[],
): void {
  metrics.collectedCounter(collectedMetrics.invalidDrops, () =>
    Promise.all(
      families.map(async ({ family, countersOf }) => ({
        value: (await countersOf(chains.invalid)).packets,
        labels: { ip_family: family },
      })),
    ),
  )
}
