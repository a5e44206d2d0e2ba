import type { Metrics } from '../../observe/index.ts'

export interface PodsMetrics {
  observeSandbox(seconds: number): void
  countStart(isRestart: boolean): void
  countFailure(): void
  /** What of the machine pods need, and whether it works. */
  setCapability(name: string, works: boolean): void
}

/** `phases` is asked at each scrape: the phase of every pod of this node. */
export function createPodsMetrics(metrics: Metrics, phases: () => Iterable<string>): PodsMetrics {
  const sandbox = metrics.histogram({
    name: 'platnet_pod_sandbox_seconds',
    help: "Time to make a pod's namespace and network, in seconds.",
    buckets: [0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10, 60],
  })
  const starts = metrics.counter<'kind'>({
    name: 'platnet_pod_container_starts_total',
    help: 'Containers started, for the first time or again.',
    labels: ['kind'],
  })
  const failures = metrics.counter({
    name: 'platnet_pod_step_failures_total',
    help: 'Steps of pods that failed; each is tried again.',
  })
  const capability = metrics.gauge<'name'>({
    name: 'platnet_pod_capability',
    help: 'Whether the machine does what pods need, found by trying: 1 or 0.',
    labels: ['name'],
  })
  metrics.collectedGauge<'phase'>(
    { name: 'platnet_pods', help: 'Pods of this node by phase.', labels: ['phase'] },
    () => {
      const counts = Map.groupBy(phases(), (phase) => phase)
      return Array.from(counts, ([phase, all]) => ({ value: all.length, labels: { phase } }))
    },
  )
  return {
    observeSandbox: (seconds) => sandbox.observe(seconds),
    countStart: (isRestart) => starts.add(1, { kind: isRestart ? 'restart' : 'first' }),
    countFailure: () => failures.add(),
    setCapability: (name, works) => capability.set(works ? 1 : 0, { name }),
  }
}
