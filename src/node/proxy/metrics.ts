import type { Metrics } from '../../observe/index.ts'
import type { WriteReport } from '../rules/index.ts'

export type SyncKind = 'full' | 'partial'

export interface ProxyMetrics {
  observeSync(kind: SyncKind, durationMs: number, report: WriteReport): void
  countFailure(): void
}

/** From 1 ms doubling to 16 s, as kube-proxy's dashboards expect. */
const syncBuckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

/** The names are kube-proxy's where it has the same figure, so that existing dashboards work. */
export function createProxyMetrics(metrics: Metrics): ProxyMetrics {
  const durations = {
    full: metrics.histogram({
      name: 'kubeproxy_sync_full_proxy_rules_duration_seconds',
      help: 'Time of a sync that compared the whole kernel state, in seconds.',
      buckets: syncBuckets,
    }),
    partial: metrics.histogram({
      name: 'kubeproxy_sync_partial_proxy_rules_duration_seconds',
      help: 'Time of a sync that wrote changed chains only, in seconds.',
      buckets: syncBuckets,
    }),
  }
  const lastSync = metrics.gauge({
    name: 'kubeproxy_sync_proxy_rules_last_timestamp_seconds',
    help: 'When the rules were last synced, in seconds since 1970.',
  })
  const failures = metrics.counter({
    name: 'kubeproxy_sync_proxy_rules_iptables_restore_failures_total',
    help: 'Writes of rules that failed; each is tried again.',
  })
  const bytes = metrics.counter({ name: 'platnet_proxy_written_bytes_total', help: 'Bytes given to iptables-restore.' })
  return {
    observeSync: (kind, durationMs, report) => {
      durations[kind].observe(durationMs / 1000)
      lastSync.set(Date.now() / 1000)
      bytes.add(report.bytes)
    },
    countFailure: () => failures.add(),
  }
}
