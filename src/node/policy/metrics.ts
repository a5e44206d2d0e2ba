import type { IpFamily } from '../../model/ip.ts'
import type { MetricSpec } from '../../model/metric-spec.ts'
import type { Metrics } from '../../observe/index.ts'
import type { ClusterState } from './cluster-state.ts'
import { DeniedByPolicy, type DeniedCount } from './denied-counts.ts'
import type { FlowCutterMetrics } from './flow-cutter.ts'
import { countIsolated } from './isolation.ts'
import type { PolicyProblems } from './problems.ts'

/** Records the work of the plane. */
export interface PolicyMetrics {
  observeSync(family: IpFamily, durationMs: number): void
  countFailure(family: IpFamily): void
}

/** From 1 ms doubling to 16 s, as of the proxy. */
const syncBuckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

const family = { ip_family: ['IPv4', 'IPv6'] } as const
const directions = ['ingress', 'egress'] as const

/** The metrics of NetworkPolicies on this node. */
export const policyMetrics = {
  duration: {
    type: 'histogram',
    name: 'platnet_policy_sync_duration_seconds',
    help: 'Time from what changed to the rules of NetworkPolicies in the kernel, planning included, in seconds.',
    buckets: syncBuckets,
    labels: family,
  },
  lastSync: {
    type: 'gauge',
    name: 'platnet_policy_last_sync_timestamp_seconds',
    help: 'When the rules of NetworkPolicies were last synced, in seconds since 1970.',
    labels: family,
  },
  failures: {
    type: 'counter',
    name: 'platnet_policy_sync_failures_total',
    help: 'Writes of the rules of NetworkPolicies that failed; each is tried again.',
    labels: family,
  },
  cutDuration: {
    type: 'histogram',
    name: 'platnet_policy_flow_cut_duration_seconds',
    help: 'Time of one search for connections that NetworkPolicies do not allow any more, in seconds.',
    buckets: syncBuckets,
    labels: family,
  },
  cut: {
    type: 'counter',
    name: 'platnet_policy_flows_cut_total',
    help: 'Connections that were cut because no NetworkPolicy allows them any more; by the program conntrack, kinds of them.',
    labels: family,
  },
  enforcing: {
    type: 'gauge',
    name: 'platnet_policy_enforcing',
    help: '1 where this node enforces NetworkPolicies, 0 where something keeps it from that.',
  },
  policies: { type: 'gauge', name: 'platnet_policy_policies', help: 'NetworkPolicies that this node knows.' },
  isolated: {
    type: 'gauge',
    name: 'platnet_policy_isolated_pods',
    help: 'Pods of this node that are isolated, by direction; unknown: announced by the network while their object is not known.',
    labels: { direction: [...directions, 'unknown'] },
  },
  problems: {
    type: 'gauge',
    name: 'platnet_policy_problems',
    help: 'NetworkPolicies that are not enforced as written: unreadable in part, or refused by the kernel and set aside.',
    labels: { reason: ['unreadable', 'refused'] },
  },
  denied: {
    type: 'counter',
    name: 'platnet_policy_denied_packets_total',
    help: 'Packets that NetworkPolicies denied, by pod of this node and direction; begins anew with each pod.',
    labels: { namespace: 'objects', pod: 'objects', direction: directions },
  },
  deniedByPolicy: {
    type: 'counter',
    name: 'platnet_policy_denied_packets_by_policy_total',
    help: 'Packets that were denied at the pods which a NetworkPolicy isolates, by policy and direction; a packet counts for each of them.',
    labels: { namespace: 'objects', policy: 'objects', direction: directions },
  },
} as const satisfies Record<string, MetricSpec>

export function createPolicyMetrics(metrics: Metrics, families: readonly IpFamily[]): PolicyMetrics {
  const duration = metrics.histogram(policyMetrics.duration)
  const lastSync = metrics.gauge(policyMetrics.lastSync)
  const failures = metrics.counter(policyMetrics.failures)
  for (const family of families) failures.add(0, { ip_family: family })
  return {
    observeSync: (family, durationMs) => {
      duration.observe(durationMs / 1000, { ip_family: family })
      lastSync.set(Date.now() / 1000, { ip_family: family })
    },
    countFailure: (family) => failures.add(1, { ip_family: family }),
  }
}

export function createFlowCutterMetrics(metrics: Metrics): (family: IpFamily) => FlowCutterMetrics {
  const duration = metrics.histogram(policyMetrics.cutDuration)
  const cut = metrics.counter(policyMetrics.cut)
  return (family) => {
    cut.add(0, { ip_family: family })
    return {
      observeCut: (durationMs, deleted) => {
        duration.observe(durationMs / 1000, { ip_family: family })
        cut.add(deleted, { ip_family: family })
      },
    }
  }
}

export interface CollectedParts {
  readonly state: ClusterState
  readonly problems: PolicyProblems
  readonly isEnforcing: () => boolean
  readonly readDenied: () => Promise<readonly DeniedCount[]>
}

/** Registers the figures that are read at each scrape. */
export function collectPolicyCounts(
  metrics: Metrics,
  { state, problems, isEnforcing, readDenied }: CollectedParts,
): void {
  metrics.collectedGauge(policyMetrics.enforcing, () => [{ value: Number(isEnforcing()) }])
  metrics.collectedGauge(policyMetrics.policies, () => [{ value: state.counts.policies }])
  metrics.collectedGauge(policyMetrics.isolated, () =>
    Object.entries(countIsolated(state)).map(([direction, value]) => ({ value, labels: { direction } })),
  )
  metrics.collectedGauge(policyMetrics.problems, () =>
    Object.entries(problems.counts).map(([reason, value]) => ({ value, labels: { reason } })),
  )
  collectDenied(metrics, state, readDenied)
}

function collectDenied(metrics: Metrics, state: ClusterState, readDenied: CollectedParts['readDenied']): void {
  const byPolicy = new DeniedByPolicy()
  metrics.collectedCounter(policyMetrics.denied, async () =>
    (await readDenied()).map(({ pod, direction, packets }) => ({
      value: packets,
      labels: { ...splitKey(pod, 'pod'), direction },
    })),
  )
  metrics.collectedCounter(policyMetrics.deniedByPolicy, async () =>
    byPolicy.take(await readDenied(), state).map(({ policy, direction, packets }) => ({
      value: packets,
      labels: { ...splitKey(policy, 'policy'), direction },
    })),
  )
}

function splitKey<Name extends string>(key: string, name: Name): Record<'namespace' | Name, string> {
  const at = key.indexOf('/')
  return { namespace: key.slice(0, at), [name]: key.slice(at + 1) } as Record<'namespace' | Name, string>
}
