import type { MetricSpec } from '../../../../model/metric-spec.ts'
import type { Series } from '../../metrics/series.ts'

/** The metrics of `loop`. */
export const loopMetrics: readonly MetricSpec[] = [
  {
    type: 'counter',
    name: 'platnet_dns_loops_total',
    help: 'Upstreams whose queries came back to this server.',
  },
]

/** Counts the forwarding loops that were found. */
export class LoopMetrics {
  #loops = 0

  countLoop(): void {
    this.#loops += 1
  }

  *series(): Iterable<Series> {
    yield { kind: 'counter', name: 'platnet_dns_loops_total', labels: {}, value: this.#loops }
  }
}
