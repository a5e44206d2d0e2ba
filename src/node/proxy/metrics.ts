import type { IpFamily } from '../../model/ip.ts'
import { chains } from '../../netfilter/names.ts'
import type { Metrics } from '../../observe/index.ts'
import type { ChainCounters, WriteReport } from '../rules/index.ts'
import type { ChangeSet } from '../state/index.ts'
import { type ClaimRefusal, claimRefusals, type RefusedClaim } from './service-claims.ts'
import type { ProxyView } from './view.ts'

type SyncKind = 'full' | 'partial'

/** The metrics of one family's plane; the registry's own metrics carry the family as a label. */
export interface ProxyMetrics {
  observeSync(kind: SyncKind, durationMs: number, report: WriteReport): void
  countFailure(kind: SyncKind): void
  /** How many Services are set aside now. */
  setSetAside(count: number): void
  /** A sync was asked for. */
  countQueued(change: Pick<ChangeSet, 'services' | 'resource'>): void
  /** The kernel has taken changes whose causes lie at these times, milliseconds since 1970. */
  observeProgramming(triggeredAtMs: readonly number[]): void
}

/** From 1 ms doubling to 16 s, as kube-proxy's dashboards expect. */
const syncBuckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

/** kube-proxy's: a quarter and half a second, each second of the first minute, then coarser up to five minutes. */
const programmingBuckets = [
  0.25,
  0.5,
  ...Array.from({ length: 59 }, (_, index) => index + 1),
  ...Array.from({ length: 12 }, (_, index) => 60 + 5 * index),
  ...Array.from({ length: 7 }, (_, index) => 120 + 30 * index),
]

/**
 * The metrics of all families, made once; the result gives each family its own view. The names are kube-proxy's where it
 * has the same figure, so that existing dashboards work.
 */
export function createProxyMetrics(metrics: Metrics): (family: IpFamily) => ProxyMetrics {
  const labels = ['ip_family'] as const
  const sync = createSyncMetrics(metrics)
  const lastQueued = metrics.gauge({
    name: 'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds',
    help: 'When a sync of the rules was last asked for, in seconds since 1970.',
    labels,
  })
  const failures = metrics.counter({
    name: 'kubeproxy_sync_proxy_rules_iptables_restore_failures_total',
    help: 'Writes of rules that failed; each is tried again.',
    labels,
  })
  const partialFailures = metrics.counter({
    name: 'kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total',
    help: 'Writes of changed chains only that failed; each is tried again.',
    labels,
  })
  const changes = {
    service: createChangeCounter(metrics, 'service', 'Services that came, went or changed themselves.'),
    endpoint: createChangeCounter(metrics, 'endpoint', 'Services whose endpoints changed.'),
  }
  const programming = metrics.histogram({
    name: 'kubeproxy_network_programming_duration_seconds',
    help: 'Time from what happened in the cluster (a pod became ready, say) to the rules that follow from it, in seconds.',
    buckets: programmingBuckets,
    labels,
  })
  const setAside = metrics.gauge({
    name: 'platnet_proxy_set_aside_services',
    help: 'Services whose rules the kernel refuses, or that have too many; they keep the rules they had.',
    labels,
  })
  return (family) => {
    const ofFamily = { ip_family: family }
    // A counter that is there from the start tells its first event as an increase.
    for (const counter of [failures, partialFailures, changes.service, changes.endpoint]) counter.add(0, ofFamily)
    return {
      observeSync: (kind, durationMs, report) => sync(ofFamily, kind, durationMs, report),
      countFailure: (kind) => {
        failures.add(1, ofFamily)
        if (kind === 'partial') partialFailures.add(1, ofFamily)
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
  metrics.collectedGauge(
    {
      name: 'platnet_proxy_refused_claims',
      help: 'Addresses with a port, and node ports, that Services claim and that belong to another owner, by reason.',
      labels: ['reason'],
    },
    () => {
      const counts = new Map<ClaimRefusal, number>(claimRefusals.map((reason) => [reason, 0]))
      for (const claims of refused()) for (const { reason } of claims) counts.set(reason, (counts.get(reason) ?? 0) + 1)
      return Array.from(counts, ([reason, value]) => ({ value, labels: { reason } }))
    },
  )
}

function createChangeCounter(metrics: Metrics, kind: 'service' | 'endpoint', help: string) {
  const name = `kubeproxy_sync_proxy_rules_${kind}_changes_total`
  return metrics.counter({ name, help, labels: ['ip_family'] })
}

function createSyncMetrics(metrics: Metrics) {
  const histogram = (kind: string, what: string) =>
    metrics.histogram({
      name: `kubeproxy_sync_${kind}proxy_rules_duration_seconds`,
      help: `Time of ${what}, in seconds.`,
      buckets: syncBuckets,
      labels: ['ip_family'],
    })
  const all = histogram('', 'a sync')
  const byKind = {
    full: histogram('full_', 'a sync that compared the whole kernel state'),
    partial: histogram('partial_', 'a sync that wrote changed chains only'),
  }
  const lastSync = metrics.gauge({
    name: 'kubeproxy_sync_proxy_rules_last_timestamp_seconds',
    help: 'When the rules were last synced, in seconds since 1970.',
    labels: ['ip_family'],
  })
  const lastRules = metrics.gauge({
    name: 'kubeproxy_sync_proxy_rules_iptables_last',
    help: 'Rules that the last sync wrote.',
    labels: ['table', 'ip_family'],
  })
  const bytes = metrics.counter({
    name: 'platnet_proxy_written_bytes_total',
    help: 'Bytes given to iptables-restore.',
    labels: ['ip_family'],
  })
  return (family: { readonly ip_family: IpFamily }, kind: SyncKind, durationMs: number, report: WriteReport): void => {
    all.observe(durationMs / 1000, family)
    byKind[kind].observe(durationMs / 1000, family)
    lastSync.set(Date.now() / 1000, family)
    bytes.add(report.bytes, family)
    for (const table of ['nat', 'filter'] as const) lastRules.set(report.rules[table], { table, ...family })
  }
}

export interface ConntrackMetrics {
  observe(durationMs: number, deleted: number): void
}

export function createConntrackMetrics(metrics: Metrics): (family: IpFamily) => ConntrackMetrics {
  const duration = metrics.histogram({
    name: 'kubeproxy_conntrack_reconciler_sync_duration_seconds',
    help: 'Time of one search for stale connections, in seconds.',
    buckets: syncBuckets,
    labels: ['ip_family'],
  })
  const deleted = metrics.counter({
    name: 'kubeproxy_conntrack_reconciler_deleted_entries_total',
    help: 'Connections to endpoints that are gone which were removed from conntrack.',
    labels: ['ip_family'],
  })
  return (family) => {
    deleted.add(0, { ip_family: family })
    return {
      observe: (durationMs, count) => {
        duration.observe(durationMs / 1000, { ip_family: family })
        deleted.add(count, { ip_family: family })
      },
    }
  }
}

type Counted = readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[]

interface ProxyCount {
  readonly name: string
  readonly help: string
  /** The labels beside the family. */
  readonly labels: readonly string[]
  readonly read: (view: ProxyView) => Counted
}

/** Figures that are counted only when metrics are asked for. */
const proxyCounts: readonly ProxyCount[] = [
  {
    name: 'kubeproxy_sync_proxy_rules_iptables_total',
    help: 'Rules that this proxy wants in the kernel.',
    labels: ['table'],
    read: (view) => {
      const { nat, filter } = view.ruleCounts()
      return [
        [{ table: 'nat' }, nat],
        [{ table: 'filter' }, filter],
      ]
    },
  },
  {
    name: 'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
    help: 'Ports of Services with a Local traffic policy and no endpoint on this node.',
    labels: ['traffic_policy'],
    read: (view) => {
      const { internal, external } = view.noLocalEndpointCounts()
      return [
        [{ traffic_policy: 'internal' }, internal],
        [{ traffic_policy: 'external' }, external],
      ]
    },
  },
  {
    name: 'kubeproxy_sync_proxy_rules_service_changes_pending',
    help: 'Services that changed and are not written yet.',
    labels: [],
    read: ({ pendingCounts }) => [[{}, pendingCounts.services]],
  },
  {
    name: 'kubeproxy_sync_proxy_rules_endpoint_changes_pending',
    help: 'Services whose endpoints changed and are not written yet.',
    labels: [],
    read: ({ pendingCounts }) => [[{}, pendingCounts.endpoints]],
  },
]

/** Registers what is counted only when metrics are asked for, of all families together. */
export function collectProxyCounts(metrics: Metrics, views: readonly ProxyView[]): void {
  for (const { name, help, labels, read } of proxyCounts) {
    metrics.collectedGauge({ name, help, labels: [...labels, 'ip_family'] }, () =>
      views.flatMap((view) =>
        read(view).map(([own, value]) => ({ value, labels: { ...own, ip_family: view.family } })),
      ),
    )
  }
}

/** Asks the kernel at each scrape: what counts is its own rule. The count begins anew where that rule is written anew. */
export function collectInvalidDrops(
  metrics: Metrics,
  families: readonly { readonly family: IpFamily; readonly countersOf: (chain: string) => Promise<ChainCounters> }[],
): void {
  metrics.collectedCounter(
    {
      name: 'kubeproxy_iptables_ct_state_invalid_dropped_packets_total',
      help: 'Packets that conntrack could not place and that were dropped rather than passed on untranslated.',
      labels: ['ip_family'],
    },
    () =>
      Promise.all(
        families.map(async ({ family, countersOf }) => ({
          value: (await countersOf(chains.invalid)).packets,
          labels: { ip_family: family },
        })),
      ),
  )
}
