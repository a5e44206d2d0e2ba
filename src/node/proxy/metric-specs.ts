import type { MetricSpec } from '../../model/metric-spec.ts'
import { claimRefusals } from './service-claims.ts'

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

const labels = { ip_family: ['IPv4', 'IPv6'] } as const
const tables = { table: ['nat', 'filter'], ...labels } as const

/** The metrics of syncs. The names are kube-proxy's where it has the same figure. */
export const syncMetrics = {
  duration: {
    type: 'histogram',
    name: 'kubeproxy_sync_proxy_rules_duration_seconds',
    help: 'Time of a sync, in seconds.',
    buckets: syncBuckets,
    labels,
  },
  full: {
    type: 'histogram',
    name: 'kubeproxy_sync_full_proxy_rules_duration_seconds',
    help: 'Time of a sync that compared the whole kernel state, in seconds.',
    buckets: syncBuckets,
    labels,
  },
  partial: {
    type: 'histogram',
    name: 'kubeproxy_sync_partial_proxy_rules_duration_seconds',
    help: 'Time of a sync that wrote changed chains only, in seconds.',
    buckets: syncBuckets,
    labels,
  },
  lastSync: {
    type: 'gauge',
    name: 'kubeproxy_sync_proxy_rules_last_timestamp_seconds',
    help: 'When the rules were last synced, in seconds since 1970.',
    labels,
  },
  lastRules: {
    type: 'gauge',
    name: 'kubeproxy_sync_proxy_rules_iptables_last',
    help: 'Rules that the last sync wrote.',
    labels: tables,
  },
  bytes: {
    type: 'counter',
    name: 'platnet_proxy_written_bytes_total',
    help: 'Bytes given to iptables-restore.',
    labels,
  },
  lastQueued: {
    type: 'gauge',
    name: 'kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds',
    help: 'When a sync of the rules was last asked for, in seconds since 1970.',
    labels,
  },
  failures: {
    type: 'counter',
    name: 'kubeproxy_sync_proxy_rules_iptables_restore_failures_total',
    help: 'Writes of rules that failed; each is tried again.',
    labels,
  },
  partialFailures: {
    type: 'counter',
    name: 'kubeproxy_sync_proxy_rules_iptables_partial_restore_failures_total',
    help: 'Writes of changed chains only that failed; each is tried again.',
    labels,
  },
  nftablesFailures: {
    type: 'counter',
    name: 'kubeproxy_sync_proxy_rules_nftables_sync_failures_total',
    help: 'Writes of rules that failed in the mode nftables; each is tried again.',
    labels,
  },
  serviceChanges: {
    type: 'counter',
    name: 'kubeproxy_sync_proxy_rules_service_changes_total',
    help: 'Services that came, went or changed themselves.',
    labels,
  },
  endpointChanges: {
    type: 'counter',
    name: 'kubeproxy_sync_proxy_rules_endpoint_changes_total',
    help: 'Services whose endpoints changed.',
    labels,
  },
  programming: {
    type: 'histogram',
    name: 'kubeproxy_network_programming_duration_seconds',
    help: 'Time from what happened in the cluster (a pod became ready, say) to the rules that follow from it, in seconds.',
    buckets: programmingBuckets,
    labels,
  },
  setAside: {
    type: 'gauge',
    name: 'platnet_proxy_set_aside_services',
    help: 'Services whose rules the kernel refuses, or that have too many; they keep the rules they had.',
    labels,
  },
} as const satisfies Record<string, MetricSpec>

/** The metrics of the search for stale connections. */
export const conntrackMetrics = {
  duration: {
    type: 'histogram',
    name: 'kubeproxy_conntrack_reconciler_sync_duration_seconds',
    help: 'Time of one search for stale connections, in seconds.',
    buckets: syncBuckets,
    labels,
  },
  deleted: {
    type: 'counter',
    name: 'kubeproxy_conntrack_reconciler_deleted_entries_total',
    help: 'Connections to endpoints that are gone which were removed from conntrack.',
    labels,
  },
} as const satisfies Record<string, MetricSpec>

/** Figures that are counted only when metrics are asked for. */
export const collectedMetrics = {
  rules: {
    type: 'gauge',
    name: 'kubeproxy_sync_proxy_rules_iptables_total',
    help: 'Rules that this proxy wants in the kernel; in the mode iptables only.',
    labels: tables,
  },
  elements: {
    type: 'gauge',
    name: 'platnet_proxy_elements',
    help: 'Elements of sets of nftables that this proxy wants in the kernel; in the mode nftables only.',
    labels,
  },
  mode: {
    type: 'gauge',
    name: 'platnet_proxy_mode',
    help: 'The mode in which this proxy writes its rules: 1 for the one in use.',
    labels: { mode: ['iptables', 'nftables'], ...labels },
  },
  noLocalEndpoints: {
    type: 'gauge',
    name: 'kubeproxy_sync_proxy_rules_no_local_endpoints_total',
    help: 'Ports of Services with a Local traffic policy and no endpoint on this node.',
    labels: { traffic_policy: ['internal', 'external'], ...labels },
  },
  pendingServices: {
    type: 'gauge',
    name: 'kubeproxy_sync_proxy_rules_service_changes_pending',
    help: 'Services that changed and are not written yet.',
    labels,
  },
  pendingEndpoints: {
    type: 'gauge',
    name: 'kubeproxy_sync_proxy_rules_endpoint_changes_pending',
    help: 'Services whose endpoints changed and are not written yet.',
    labels,
  },
  refusedClaims: {
    type: 'gauge',
    name: 'platnet_proxy_refused_claims',
    help: 'Addresses with a port, and node ports, that Services claim and that belong to another owner, by reason.',
    labels: { reason: claimRefusals },
  },
  invalidDrops: {
    type: 'counter',
    name: 'kubeproxy_iptables_ct_state_invalid_dropped_packets_total',
    help: 'Packets that conntrack could not place and that were dropped rather than passed on untranslated.',
    labels,
  },
  healthz: {
    type: 'counter',
    name: 'kubeproxy_proxy_healthz_total',
    help: "Answers of the proxy's /healthz.",
    labels: { code: 'codes' },
  },
  livez: {
    type: 'counter',
    name: 'kubeproxy_proxy_livez_total',
    help: "Answers of the proxy's /livez.",
    labels: { code: 'codes' },
  },
} as const satisfies Record<string, MetricSpec>
