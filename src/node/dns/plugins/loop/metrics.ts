import type { Series } from '../../metrics/series.ts'

export const loopHelp = { platnet_dns_loops_total: 'Upstreams whose queries came back to this server.' } as const

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
