import type { MetricSpec } from '../../model/metric-spec.ts'
import type { Metrics } from '../../observe/index.ts'

export interface PodsMetrics {
  observeSandbox(seconds: number): void
  countStart(isRestart: boolean): void
  countFailure(): void
  /** Sets the result of a probe of the machine. */
  setCapability(name: string, works: boolean): void
}

/** The metrics of the pods of this node. */
export const podsMetrics = {
  sandbox: {
    type: 'histogram',
    name: 'platnet_pod_sandbox_seconds',
    help: 'Time to create the namespace and the network of a pod, in seconds.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 60],
  },
  starts: {
    type: 'counter',
    name: 'platnet_pod_container_starts_total',
    help: 'Starts of containers, by kind.',
    labels: { kind: ['first', 'restart'] },
  },
  failures: {
    type: 'counter',
    name: 'platnet_pod_step_failures_total',
    help: 'Failed steps of pods; each is retried.',
  },
  capability: {
    type: 'gauge',
    name: 'platnet_pod_capability',
    help: '1 if a probe found that the machine has a capability that pods need, else 0.',
    labels: { name: 'machine' },
  },
  pods: {
    type: 'gauge',
    name: 'platnet_pods',
    help: 'Pods of this node, by phase.',
    labels: { phase: ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'] },
  },
} as const satisfies Record<string, MetricSpec>

/** `phases` returns the phase of every pod of this node; each scrape calls it. */
export function createPodsMetrics(metrics: Metrics, phases: () => Iterable<string>): PodsMetrics {
  const sandbox = metrics.histogram(podsMetrics.sandbox)
  const starts = metrics.counter(podsMetrics.starts)
  for (const kind of ['first', 'restart'] as const) starts.add(0, { kind })
  const failures = metrics.counter(podsMetrics.failures)
  const capability = metrics.gauge(podsMetrics.capability)
  metrics.collectedGauge(podsMetrics.pods, () => {
    const counts = Map.groupBy(phases(), (phase) => phase)
    return Array.from(counts, ([phase, all]) => ({ value: all.length, labels: { phase } }))
  })
  return {
    observeSandbox: (seconds) => sandbox.observe(seconds),
    countStart: (isRestart) => starts.add(1, { kind: isRestart ? 'restart' : 'first' }),
    countFailure: () => failures.add(),
    setCapability: (name, works) => capability.set(works ? 1 : 0, { name }),
  }
}
