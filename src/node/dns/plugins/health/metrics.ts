import { Agent, get } from 'node:http'
import { Periodic } from '../../../../loop/periodic.ts'
import type { MetricSpec } from '../../../../model/metric-spec.ts'
import { createHistogram, observe, slimTimeBounds } from '../../metrics/buckets.ts'
import type { Series } from '../../metrics/series.ts'

/** The metrics of `health`. */
export const healthMetrics: readonly MetricSpec[] = [
  {
    type: 'histogram',
    name: 'coredns_health_request_duration_seconds',
    help: 'Time from a request to our own health endpoint, every 5 s, to its answer.',
    buckets: slimTimeBounds,
  },
  {
    type: 'counter',
    name: 'coredns_health_request_failures_total',
    help: 'Requests that our own health endpoint did not answer.',
  },
]

const usualIntervalMs = 5_000
const timeoutMs = 5_000

interface ProbeOptions {
  readonly address: string
  readonly port: number
  readonly intervalMs?: number
}

/** Requests our own health endpoint: a slow answer shows that this process is overloaded. CoreDNS does so once a second, which wakes an idle node. */
export class HealthProbe {
  readonly #seconds = createHistogram(slimTimeBounds)
  readonly #loop: Periodic
  /** One connection, kept: a new one each time would be most of the work. */
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  #failures = 0

  constructor({ address, port, intervalMs = usualIntervalMs }: ProbeOptions) {
    const place = { host: address, port, agent: this.#agent }
    const job = async () => {
      const startedMs = performance.now()
      if (!(await isAnswering(place))) this.#failures += 1
      observe(this.#seconds, (performance.now() - startedMs) / 1000)
    }
    this.#loop = new Periodic(job, { intervalMs, onError: () => {} })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    await this.#loop.stop(scope)
    this.#agent.destroy()
  }

  *series(): Iterable<Series> {
    const name = 'coredns_health_request_duration_seconds'
    yield { kind: 'histogram', name, labels: {}, histogram: this.#seconds }
    yield { kind: 'counter', name: 'coredns_health_request_failures_total', labels: {}, value: this.#failures }
  }
}

interface Place {
  readonly host: string
  readonly port: number
  readonly agent: Agent
}

/** A kept connection may have been closed meanwhile, so its failure says nothing: a new one is tried. */
function isAnswering(place: Place): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(timeoutMs)
    const request = get({ ...place, path: '/health', signal }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.once('error', () => resolve(request.reusedSocket && !signal.aborted && isAnswering(place)))
  })
}
