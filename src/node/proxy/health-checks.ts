import type { Component, Health } from '../../loop/component.ts'
import { Periodic } from '../../loop/periodic.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import { describeError } from '../../model/errors.ts'
import { type Ip, ipFamily, renderAddressPort, unspecifiedIpv4, unspecifiedIpv6 } from '../../model/ip.ts'
import type { Logger } from '../../observe/index.ts'
import { createRouter, httpListener, type Listener, type TextAnswer } from '../../serve/index.ts'
import type { LiveNodeState } from '../state/index.ts'

export interface HealthChecksParts {
  readonly state: Pick<LiveNodeState, 'service' | 'slicesOf' | 'subscribe'>
  readonly nodeName: string
  readonly isProxyHealthy: () => boolean
  /** Where to listen; asked again every 10 s. */
  readonly addresses: () => readonly Ip[]
  /** Reports a port that could not be opened, once per Service. */
  readonly onRefused?: (service: ObjectKey, reason: string) => void
  readonly log: Logger
}

interface Check {
  readonly service: ObjectKey
  readonly port: number
  /** The families of the Service, in order. */
  readonly families: string
}

interface Server {
  readonly check: Check
  readonly listener: Listener
  isOpen: boolean
}

const retryMs = 10_000

/**
 * An HTTP server for each Service with a `healthCheckNodePort`: load balancers ask it whether this node has ready endpoints.
 * Answers as kube-proxy does, by whatever path: 200 or 503, the count in the body and in `X-Load-Balancing-Endpoint-Weight`.
 */
export class HealthChecks implements Component {
  readonly name = 'health-checks'
  readonly #parts: HealthChecksParts
  readonly #checks = new Map<ObjectKey, Check>()
  /** The servers by `address:port`. */
  readonly #servers = new Map<string, Server>()
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

  /** The addresses may be others now. */
  onNodeChange(): void {
    void this.#adjust()
  }

  health(): Health {
    return this.#health
  }

  /** Whether a port has to be opened or closed. */
  #refresh(key: ObjectKey): boolean {
    const before = this.#checks.get(key)
    const service = this.#parts.state.service(key)
    const port = service?.foreignProxy === true ? undefined : service?.healthCheckNodePort
    if (service === undefined || port === undefined) return this.#checks.delete(key)
    const families = service.clusterIps.map(ipFamily).sort().join()
    this.#checks.set(key, { service: key, port, families })
    return before?.port !== port || before.families !== families
  }

  /** Ready ones on this node; what terminates does not count. An endpoint with an address of each family is one. */
  #countEndpoints(key: ObjectKey): number {
    const slices = this.#parts.state.slicesOf(key).filter(({ namesOnly }) => namesOnly !== true)
    const endpoints = slices.flatMap((slice) => slice.endpoints)
    const own = endpoints.filter(({ nodeName, ready }) => ready && nodeName === this.#parts.nodeName)
    const addresses = [...new Set(own.map(({ address }) => address))]
    const ofIpv4 = addresses.filter((address) => ipFamily(address) === 'IPv4').length
    return Math.max(ofIpv4, addresses.length - ofIpv4)
  }

  #adjust(): Promise<void> {
    this.#changing = this.#changing.then(() => this.#adjustNow())
    return this.#changing
  }

  async #adjustNow(): Promise<void> {
    const addresses = this.#parts.addresses()
    const checks = [...this.#checks.values()]
    const wanted = new Map(
      checks.flatMap((check) =>
        addresses
          .filter((address) => isAskedOn(address, check))
          .map((address) => [renderAddressPort(address, check.port), { check, address }] as const),
      ),
    )
    for (const [place, server] of this.#servers) {
      if (wanted.get(place)?.check.service === server.check.service) continue
      this.#servers.delete(place)
      await server.listener.stop({ signal: AbortSignal.timeout(1000) })
    }
    for (const [place, { check, address }] of wanted) await this.#open(place, check, address)
    this.#updateHealth()
  }

  async #open(place: string, check: Check, address: Ip): Promise<void> {
    const known = this.#servers.get(place)
    if (known?.isOpen === true) return
    const server = known ?? { check, listener: this.#createListener(check, address), isOpen: false }
    this.#servers.set(place, server)
    try {
      await server.listener.start()
      server.isOpen = true
    } catch (error) {
      if (known !== undefined) return
      const { service, port } = check
      this.#parts.log.error('a health check port could not be opened, will try again', { service, port, error })
      this.#parts.onRefused?.(service, describeError(error))
    }
  }

  #createListener({ service, port }: Check, address: Ip): Listener {
    const { log } = this.#parts
    const handler = createRouter({ '/*': () => this.#answer(service) }, (error) =>
      log.error('a check failed', { error }),
    )
    return httpListener({ name: `health-check-${port}`, address, port, handler, log })
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

  #updateHealth(): void {
    const closed = [...this.#servers].filter(([, { isOpen }]) => !isOpen).map(([place]) => place)
    const level = closed.length === 0 ? 'ok' : 'degraded'
    const message = closed.length === 0 ? '' : `health check ports that could not be opened: ${closed.join(', ')}`
    if (message !== this.#health.message) this.#health = { level, message, sinceMs: Date.now() }
  }
}

/** Returns the listen addresses: all addresses cover both families; chosen ones are those of the Service's families. */
function isAskedOn(address: Ip, { families }: Check): boolean {
  return address === unspecifiedIpv4 || address === unspecifiedIpv6 || families.includes(ipFamily(address))
}
