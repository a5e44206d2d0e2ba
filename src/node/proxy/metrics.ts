import type { IpFamily } from '../../model/ip.ts'
import type { Metrics } from '../../observe/index.ts'
import type { WriteReport } from '../rules/index.ts'
import type { ProxyPlane } from './plane.ts'

export type SyncKind = 'full' | 'partial'

/** What one family's plane tells; the registry's own metrics carry the family as a label. */
export interface ProxyMetrics {
  observeSync(kind: SyncKind, durationMs: number, report: WriteReport): void
  countFailure(kind: SyncKind): void
  /** How many Services the kernel refuses now. */
  setSetAside(count: number): void
  /** A sync was asked for. */
  countQueued(): void
}

/** From 1 ms doubling to 16 s, as kube-proxy's dashboards expect. */
const syncBuckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

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
  const setAside = metrics.gauge({
    name: 'platnet_proxy_set_aside_services',
    help: 'Services whose rules the kernel refuses; they keep the rules they had.',
    labels,
  })
  return (family) => {
    const ofFamily = { ip_family: family }
    return {
      observeSync: (kind, durationMs, report) => sync(ofFamily, kind, durationMs, report),
      countFailure: (kind) => {
        failures.add(1, ofFamily)
        if (kind === 'partial') partialFailures.add(1, ofFamily)
      },
      setSetAside: (count) => setAside.set(count, ofFamily),
      countQueued: () => lastQueued.set(Date.now() / 1000, ofFamily),
    }
  }
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
  return (family) => ({
    observe: (durationMs, count) => {
      duration.observe(durationMs / 1000, { ip_family: family })
      deleted.add(count, { ip_family: family })
    },
  })
}

/** What is counted only when metrics are asked for, of all families together. */
export function collectProxyCounts(metrics: Metrics, planes: readonly ProxyPlane[]): void {
  const perFamily =
    <L extends string>(read: (plane: ProxyPlane) => readonly (readonly [Record<L, string>, number])[]) =>
    () =>
      planes.flatMap((plane) =>
        read(plane).map(([labels, value]) => ({ value, labels: { ...labels, ip_family: plane.family } })),
      )
  metrics.collectedGauge(
    {
      name: 'kubeproxy_sync_proxy_rules_iptables_total',
      help: 'Rules that this proxy wants in the kernel.',
      labels: ['table', 'ip_family'],
    },
    perFamily((plane) => {
      const { nat, filter } = plane.ruleCounts()
      return [
        [{ table: 'nat' }, nat],
        [{ table: 'filter' }, filter],
      ]
    }),
  )
  metrics.collectedGauge(
    {
      name: 'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
      help: 'Ports of Services with a Local traffic policy and no endpoint on this node.',
      labels: ['traffic_policy', 'ip_family'],
    },
    perFamily((plane) => {
      const { internal, external } = plane.noLocalEndpointCounts()
      return [
        [{ traffic_policy: 'internal' }, internal],
        [{ traffic_policy: 'external' }, external],
      ]
    }),
  )
  metrics.collectedGauge(
    {
      name: 'kubeproxy_sync_proxy_rules_service_changes_pending',
      help: 'Services that changed, themselves or in their endpoints, and are not written yet.',
      labels: ['ip_family'],
    },
    perFamily(({ pendingChanges }) => [[{}, pendingChanges]]),
  )
}
