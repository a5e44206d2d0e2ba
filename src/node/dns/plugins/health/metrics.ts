import { get } from 'node:http'
import { Periodic } from '../../../../loop/periodic.ts'
import type { MetricSpec } from '../../../../model/metric-spec.ts'
import { createHistogram, observe, slimTimeBounds } from '../../metrics/buckets.ts'
import type { Series } from '../../metrics/series.ts'

/** The metrics of `health`. */
export const healthMetrics: readonly MetricSpec[] = [
  {
    type: 'histogram',
    name: 'coredns_health_request_duration_seconds',
    help: 'Time from a request to our own health endpoint, once a second, to its answer.',
    buckets: slimTimeBounds,
  },
  {
    type: 'counter',
    name: 'coredns_health_request_failures_total',
    help: 'Requests that our own health endpoint did not answer.',
  },
]

const timeoutMs = 5_000

/** Requests our own health endpoint once a second, as CoreDNS does: a slow answer shows that this process is overloaded. */
export class HealthProbe {
  readonly #seconds = createHistogram(slimTimeBounds)
  readonly #loop: Periodic
  #failures = 0

  constructor({ address, port }: { readonly address: string; readonly port: number }) {
    const job = async () => {
      const startedMs = performance.now()
      if (!(await isAnswering(address, port))) this.#failures += 1
      observe(this.#seconds, (performance.now() - startedMs) / 1000)
    }
    this.#loop = new Periodic(job, { intervalMs: 1_000, onError: () => {} })
  }

  start(): void {
    this.#loop.start()
  }

  stop(scope: { signal: AbortSignal }): Promise<void> {
    return this.#loop.stop(scope)
  }

  *series(): Iterable<Series> {
    const name = 'coredns_health_request_duration_seconds'
    yield { kind: 'histogram', name, labels: {}, histogram: this.#seconds }
    yield { kind: 'counter', name: 'coredns_health_request_failures_total', labels: {}, value: this.#failures }
  }
}

function isAnswering(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(
      { host, port, path: '/health', agent: false, signal: AbortSignal.timeout(timeoutMs) },
      (response) => {
        response.resume()
        resolve(response.statusCode === 200)
      },
    )
    request.once('error', () => resolve(false))
  })
}
