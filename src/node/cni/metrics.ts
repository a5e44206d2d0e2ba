import type { MetricSpec } from '../../model/metric-spec.ts'
import type { Metrics } from '../../observe/index.ts'
import type { GateMetrics } from './gate.ts'

export interface NetworkMetrics {
  setReady(isReady: boolean): void
  setSkipped(files: number): void
}

/** The metrics of the watch of `net.d` and of the gate. */
export const cniMetrics = {
  ready: {
    type: 'gauge',
    name: 'platnet_cni_network_ready',
    help: 'Whether pods of this node can get a network by CNI: 1 or 0.',
  },
  skipped: {
    type: 'gauge',
    name: 'platnet_cni_skipped_files',
    help: 'Files in the CNI configuration folder that cannot be used.',
  },
  wait: {
    type: 'histogram',
    name: 'platnet_cni_gate_wait_seconds',
    help: 'How long new pods waited until every plane had applied their addresses, in seconds.',
    labels: { outcome: ['applied', 'late'] },
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
} as const satisfies Record<string, MetricSpec>

/** Metrics of the watch of `net.d`. */
export function createNetworkMetrics(metrics: Metrics): NetworkMetrics {
  const ready = metrics.gauge(cniMetrics.ready)
  const skipped = metrics.gauge(cniMetrics.skipped)
  return { setReady: (isReady) => ready.set(isReady ? 1 : 0), setSkipped: (files) => skipped.set(files) }
}

/** Metrics of the gate. */
export function createGateMetrics(metrics: Metrics): GateMetrics {
  const wait = metrics.histogram(cniMetrics.wait)
  for (const outcome of ['applied', 'late'] as const) wait.zero({ outcome })
  return { observeWait: (seconds, outcome) => wait.observe(seconds, { outcome }) }
}
