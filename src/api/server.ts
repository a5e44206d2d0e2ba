import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Component, Health } from '../loop/component.ts'
import type { Dialect } from '../model/dialect.ts'
import { describeError } from '../model/errors.ts'
import type { Cidr } from '../model/ip.ts'
import type { Logger } from '../observe/logger.ts'
import { createAuthenticator, type StaticToken } from './access/authenticate.ts'
import type { PortRange } from './allocation/pools.ts'
import { createFirstObjects } from './first-objects.ts'
import type { HealthCheck } from './health-report.ts'
import { RequestHandler } from './request-handler.ts'
import { createRegistry } from './resources/registry.ts'
import type { Store } from './store/index.ts'
import type { VerbContext } from './verbs/verb-context.ts'
import { WatchHub } from './watch/watch-hub.ts'

export interface ApiServerOptions {
  readonly store: Store
  readonly dialect: Dialect
  readonly serviceCidr: Cidr
  readonly nodePortRange: PortRange
  readonly tls: { readonly certPem: string; readonly keyPem: string; readonly clientCaPem: string }
  readonly bindAddress: string
  /** 0 takes a free one. */
  readonly port: number
  readonly staticTokens: readonly StaticToken[]
  /** What `/healthz` and `/readyz` report beside `ping`. */
  readonly readiness: () => readonly HealthCheck[]
  /** The body of `/metrics`. */
  readonly metricsText: () => Promise<string>
  readonly log: Logger
}

/** A client must have sent its headers, and its whole request, in so long; a slow sender is cut off. */
const headersTimeoutMs = 10_000
const requestTimeoutMs = 60_000
const keepAliveTimeoutMs = 90_000

/** The API over HTTPS. Does not close the store, which it did not open. */
export class ApiServer implements Component {
  readonly name = 'api-server'
  readonly #options: ApiServerOptions
  readonly #watches: WatchHub
  #server: Server | undefined
  #health: Health = { level: 'unknown', message: 'not started', sinceMs: 0 }

  constructor(options: ApiServerOptions) {
    this.#options = options
    this.#watches = new WatchHub(options.store, () => new Date(), options.log.child('watch'))
  }

  /** The port it listens on, 0 while it does not. */
  get port(): number {
    return (this.#server?.address() as AddressInfo | null | undefined)?.port ?? 0
  }

  async start({ signal }: { signal: AbortSignal }): Promise<void> {
    const { bindAddress, port, log } = this.#options
    const context = this.#createContext()
    const server = this.#createServer(context)
    this.#server = server
    server.listen({ host: bindAddress, port })
    await once(server, 'listening', { signal })
    server.on('error', (error) => log.error('the listener failed', { error: describeError(error) }))
    await createFirstObjects(context, this.#options.serviceCidr, this.port)
    this.#setHealth('ok', `serving on ${bindAddress}:${this.port}`)
    log.info('serving the API', { address: bindAddress, port: this.port })
  }

  /** Ends watches, lets requests in flight finish, and cuts what is left at the deadline. */
  async stop({ signal }: { signal: AbortSignal }): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    this.#setHealth('stopped', 'stopped')
    this.#watches.endAll()
    const cut = () => server.closeAllConnections()
    signal.addEventListener('abort', cut, { once: true })
    if (signal.aborted) cut()
    await new Promise<void>((resolve) => server.close(() => resolve()))
    signal.removeEventListener('abort', cut)
  }

  health(): Health {
    return this.#health
  }

  #setHealth(level: Health['level'], message: string): void {
    this.#health = { level, message, sinceMs: Date.now() }
  }

  #createContext(): VerbContext {
    const { store, dialect, serviceCidr, nodePortRange } = this.#options
    const registry = createRegistry({ store, dialect, ranges: { serviceCidr, nodePortRange } })
    return { store, registry, now: () => new Date(), newUid: randomUUID, pickBelow: randomInt }
  }

  #createServer(context: VerbContext): Server {
    const { tls, staticTokens, readiness, metricsText, log } = this.#options
    const authenticate = createAuthenticator(staticTokens)
    const watches = this.#watches
    const handler = new RequestHandler({ context, authenticate, watches, readiness, metricsText, log })
    return createServer(
      {
        cert: tls.certPem,
        key: tls.keyPem,
        ca: tls.clientCaPem,
        // Who has no certificate may have a token: access/ decides, not the handshake.
        requestCert: true,
        rejectUnauthorized: false,
        minVersion: 'TLSv1.2',
        headersTimeout: headersTimeoutMs,
        requestTimeout: requestTimeoutMs,
        keepAliveTimeout: keepAliveTimeoutMs,
      },
      (request, response) => void handler.handle(request, response),
    )
  }
}

export function createApiServer(options: ApiServerOptions): ApiServer {
  return new ApiServer(options)
}
