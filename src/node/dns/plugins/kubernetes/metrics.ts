import type { MetricSpec } from '../../../../model/metric-spec.ts'
import { createHistogram, observe, programmingBounds } from '../../metrics/buckets.ts'
import type { Series } from '../../metrics/series.ts'

/** The metrics of `kubernetes`. */
export const kubernetesMetrics: readonly MetricSpec[] = [
  {
    type: 'histogram',
    name: 'coredns_kubernetes_dns_programming_duration_seconds',
    help: 'Time from a change of endpoints to the answers that have it.',
    labels: { service_kind: ['headless_with_selector'] },
    buckets: programmingBounds,
  },
  {
    type: 'gauge',
    name: 'platnet_dns_names',
    help: "Names of the cluster's zones.",
  },
]

/** Measures how long changes of endpoints take to reach the answers (CoreDNS' "DNS programming latency"). */
export class KubernetesMetrics {
  readonly #programming = createHistogram(programmingBounds)

  observeProgramming(seconds: number): void {
    observe(this.#programming, seconds)
  }

  /** `names` is how many names all zones have; `isEnabled`: a server block has `kubernetes`. */
  *series(names: number, isEnabled: boolean): Iterable<Series> {
    yield { kind: 'gauge', name: 'platnet_dns_names', labels: {}, value: names }
    const name = 'coredns_kubernetes_dns_programming_duration_seconds'
    const labels = { service_kind: 'headless_with_selector' }
    if (isEnabled) yield { kind: 'histogram', name, labels, histogram: this.#programming }
  }
}
