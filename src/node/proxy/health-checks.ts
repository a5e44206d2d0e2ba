import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import { unspecifiedIpv4 } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import { createRouter, httpListener, type Listener, type TextAnswer } from '../../serve/index.ts'
import type { LiveNodeState } from '../state/index.ts'

export interface HealthChecksParts {
  readonly state: Pick<LiveNodeState, 'service' | 'slicesOf' | 'subscribe'>
  readonly nodeName: string
  readonly isProxyHealthy: () => boolean
  /** A port could not be opened; told once a Service. */
  readonly onRefused?: (service: ObjectKey, reason: string) => void
  readonly log: Logger
}

interface Check {
  readonly service: ObjectKey
  readonly port: number
}

interface Server {
  readonly service: ObjectKey
  readonly listener: Listener
  isOpen: boolean
}

const retryMs = 10_000

/**
 * An HTTP server for each Service with a `healthCheckNodePort`: load balancers ask it whether this node has ready endpoints.
 * Answers as kube-proxy does: 200 or 503, the count in the body and in `X-Load-Balancing-Endpoint-Weight`.
 */
export class HealthChecks implements Component {
  readonly name = 'health-checks'
  readonly #parts: HealthChecksParts
  readonly #checks = new Map<ObjectKey, Check>()
  readonly #servers = new Map<number, Server>()
  readonly #retry: Periodic
  #changing: Promise<void> = Promise.resolve()
  #unsubscribe = () => {}
  #health: Health = { level: 'ok', message: '', sinceMs: 0 }

  constructor(parts: HealthChecksParts) {
    this.#parts = parts
    this.#retry = new Periodic(() => this.#adjust(), { intervalMs: retryMs, onError: () => {} })
  }

  async start(): Promise<void> {
    this.#unsubscribe = this.#parts.state.subscribe(({ services }) => {
      const isDifferent = Array.from(services, (key) => this.#refresh(key)).includes(true)
      if (isDifferent) void this.#adjust()
    })
    this.#retry.start()
  }

  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#unsubscribe()
    await this.#retry.stop(scope)
    this.#checks.clear()
    await this.#adjust()
  }

  health(): Health {
    return this.#health
  }

  /** Whether a port has to be opened or closed. */
  #refresh(key: ObjectKey): boolean {
    const before = this.#checks.get(key)
    const port = this.#parts.state.service(key)?.healthCheckNodePort
    if (port === undefined) return this.#checks.delete(key)
    this.#checks.set(key, { service: key, port })
    return before?.port !== port
  }

  /** Ready ones on this node, each address once; what terminates does not count. */
  #countEndpoints(key: ObjectKey): number {
    const endpoints = this.#parts.state.slicesOf(key).flatMap((slice) => slice.endpoints)
    const own = endpoints.filter(({ nodeName, ready }) => ready && nodeName === this.#parts.nodeName)
    return new Set(own.map(({ address }) => address)).size
  }

  #adjust(): Promise<void> {
    this.#changing = this.#changing.then(() => this.#adjustNow())
    return this.#changing
  }

  async #adjustNow(): Promise<void> {
    const wanted = new Map(Array.from(this.#checks.values(), (check) => [check.port, check]))
    for (const [port, server] of this.#servers) {
      if (wanted.get(port)?.service === server.service) continue
      this.#servers.delete(port)
      await server.listener.stop({ signal: AbortSignal.timeout(1000) })
    }
    for (const check of wanted.values()) await this.#open(check)
    this.#tellHealth()
  }

  async #open({ service, port }: Check): Promise<void> {
    const known = this.#servers.get(port)
    if (known?.isOpen === true) return
    const server = known ?? { service, listener: this.#createListener(service, port), isOpen: false }
    this.#servers.set(port, server)
    try {
      await server.listener.start()
      server.isOpen = true
    } catch (error) {
      if (known !== undefined) return
      this.#parts.log.error('a health check port could not be opened, will try again', { service, port, error })
      this.#parts.onRefused?.(service, describeError(error))
    }
  }

  #createListener(service: ObjectKey, port: number): Listener {
    const { log } = this.#parts
    const handler = createRouter({ '/*': () => this.#answer(service) }, (error) =>
      log.error('a check failed', { error }),
    )
    return httpListener({ name: `health-check-${port}`, address: unspecifiedIpv4, port, handler, log })
  }

  #answer(key: ObjectKey): TextAnswer {
    const localEndpoints = this.#countEndpoints(key)
    const serviceProxyHealthy = this.#parts.isProxyHealthy()
    const [namespace, name] = key.split('/')
    return {
      status: localEndpoints > 0 && serviceProxyHealthy ? 200 : 503,
      contentType: 'application/json',
      headers: { 'x-load-balancing-endpoint-weight': String(localEndpoints) },
      body: JSON.stringify({ service: { namespace, name }, localEndpoints, serviceProxyHealthy }),
    }
  }

  #tellHealth(): void {
    const closed = [...this.#servers].filter(([, { isOpen }]) => !isOpen).map(([port]) => port)
    const level = closed.length === 0 ? 'ok' : 'degraded'
    const message = closed.length === 0 ? '' : `health check ports that could not be opened: ${closed.join(', ')}`
    if (message !== this.#health.message) this.#health = { level, message, sinceMs: Date.now() }
  }
}
