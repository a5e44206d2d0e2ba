import type { Component } from '../../../loop/component.ts'
import { describeError } from '../../../model/errors.ts'
import type { Ip } from '../../../model/ip.ts'
import type { Logger } from '../../../observe/index.ts'
import { createRouter, httpListener, type RoutedRequest, type TextAnswer } from '../../../serve/index.ts'
import type { Series } from '../metrics/series.ts'
import { HealthProbe } from '../plugins/health/metrics.ts'

/** An HTTP endpoint of DNS and the plugin it belongs to. */
export interface HttpEndpoint {
  readonly kind: 'health' | 'ready' | 'metrics'
  readonly address: Ip
  readonly port: number
}

export interface EndpointAnswers {
  /** The plugins that are not ready, or the reason why nothing is ready any more; empty when DNS is ready. */
  readonly unready: () => readonly string[]
  readonly metrics: () => Promise<string>
  /** Returns whether that source may read the metrics on an address that others reach too. */
  readonly mayRead: (address: string) => boolean
}

/** Opens and closes the endpoints of `health`, `ready` and `prometheus` as the Corefile says. */
export class HttpEndpoints {
  readonly #answers: EndpointAnswers
  readonly #log: Logger
  #open = new Map<string, Component>()
  #probed: { readonly key: string; readonly probe: HealthProbe } | undefined

  constructor(answers: EndpointAnswers, log: Logger) {
    this.#answers = answers
    this.#log = log
  }

  /** Opens and closes what differs. An endpoint whose port is taken is logged and left out. */
  async change(endpoints: readonly HttpEndpoint[]): Promise<void> {
    const wanted = new Map(endpoints.map((endpoint) => [JSON.stringify(endpoint), endpoint]))
    for (const [key, listener] of this.#open) if (!wanted.has(key)) await this.#close(key, listener)
    for (const [key, endpoint] of wanted) if (!this.#open.has(key)) await this.#openOne(key, endpoint)
  }

  *series(): Iterable<Series> {
    if (this.#probed) yield* this.#probed.probe.series()
  }

  async stop(): Promise<void> {
    for (const [key, listener] of this.#open) await this.#close(key, listener)
  }

  async #openOne(key: string, { kind, address, port }: HttpEndpoint): Promise<void> {
    const handler = createRouter(this.#routes(kind), (error, path) =>
      this.#log.error('a request to an endpoint of DNS failed', { path, error }),
    )
    const listener = httpListener({ name: `dns-${kind}`, handler, log: this.#log, address, port })
    try {
      await listener.start()
      this.#open.set(key, listener)
      if (kind === 'health') this.#probeAt(key, { address, port })
    } catch (error) {
      this.#log.warn('an endpoint of DNS cannot be opened', { kind, address, port, error: describeError(error) })
    }
  }

  /** Probes one endpoint: all of them answer alike. */
  #probeAt(key: string, endpoint: Pick<HttpEndpoint, 'address' | 'port'>): void {
    if (this.#probed !== undefined) return
    this.#probed = { key, probe: new HealthProbe(endpoint) }
    this.#probed.probe.start()
  }

  async #stopProbe(key: string): Promise<void> {
    if (this.#probed?.key !== key) return
    const { probe } = this.#probed
    this.#probed = undefined
    await probe.stop({ signal: AbortSignal.timeout(1_000) }).catch(() => {})
  }

  async #close(key: string, listener: Component): Promise<void> {
    this.#open.delete(key)
    await this.#stopProbe(key)
    await listener.stop({ signal: AbortSignal.timeout(1_000) })
  }

  #routes(kind: HttpEndpoint['kind']) {
    if (kind === 'health') return { '/health': () => ({ status: 200, body: 'OK' }) }
    if (kind === 'ready') return { '/ready': () => this.#ready() }
    return { '/metrics': (request: RoutedRequest) => this.#metrics(request) }
  }

  #ready(): TextAnswer {
    const unready = this.#answers.unready()
    return unready.length === 0 ? { status: 200, body: 'OK' } : { status: 503, body: unready.join(',') }
  }

  async #metrics({ message }: RoutedRequest): Promise<TextAnswer> {
    if (!this.#answers.mayRead(message.socket.remoteAddress ?? '')) return { status: 403, body: 'forbidden\n' }
    const contentType = 'text/plain; version=0.0.4; charset=utf-8'
    return { status: 200, body: await this.#answers.metrics(), contentType }
  }
}
