import { once } from 'node:events'
import type { Server, Socket } from 'node:net'
import tls from 'node:tls'
import { formatListenAddress, type ListenAddress } from '../../../config/index.ts'
import type { Health } from '../../../loop/component.ts'
import { Periodic } from '../../../loop/periodic.ts'
import { ipFamily } from '../../../model/ip.ts'
import type { RoutingTable } from '../../../model/routing-table.ts'
import type { Logger, Tracer } from '../../../observe/index.ts'
import type { IngressDriver, IngressSettings, RoutingRefusal, ServedRequest } from '../driver.ts'
import { BackendPools } from './backend-pools.ts'
import { Balancer } from './balancer.ts'
import { CertificateChooser, secureOptions } from './certificate-chooser.ts'
import { ClientLimits } from './client-limits.ts'
import { createPlainServer, createTlsServer } from './edge-servers.ts'
import { Exchange } from './exchange.ts'

export interface InProcessParts extends IngressSettings {
  readonly onServed: (request: ServedRequest) => void
  /** Absent: requests are not traced. */
  readonly tracer?: Tracer | undefined
  readonly log: Logger
  /** How long an address that cannot be listened on is left alone; 5 s by default. */
  readonly retryMs?: number
}

interface Edge {
  readonly address: ListenAddress
  readonly option: string
  readonly server: Server
  fault?: string | undefined
}

const emptyTable: RoutingTable = { hosts: new Map(), backends: new Map(), certificates: [] }

/** Serves Ingresses in the agent's own process: for a node without haproxy. A request keeps the table it began with. */
export class InProcessDriver implements IngressDriver {
  readonly name = 'ingress-in-process'
  readonly kind = 'in-process'
  isServing = false
  readonly #parts: InProcessParts
  readonly #clients: ClientLimits
  readonly #balancer = new Balancer()
  readonly #pools: BackendPools
  readonly #certificates = new CertificateChooser()
  readonly #sockets = new Set<Socket>()
  readonly #listening: Periodic
  #edges: readonly Edge[] = []
  #table = emptyTable
  #isStopped = false
  #sinceMs = 0

  constructor(parts: InProcessParts) {
    this.#parts = parts
    this.#clients = new ClientLimits(parts.limits)
    this.#pools = new BackendPools(parts.limits)
    this.#listening = new Periodic(() => this.#listenWhereNot(), {
      intervalMs: parts.retryMs ?? 5_000,
      onError: (error) => parts.log.error('the listeners could not be opened', { error }),
    })
  }

  async start(): Promise<void> {
    this.#edges = this.#createEdges()
    this.#sinceMs = Date.now()
  }

  /** Requests under way are finished until the signal aborts; then they are cut. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#isStopped = true
    await this.#listening.stop(scope)
    const cut = () => {
      for (const socket of this.#sockets) socket.destroy()
    }
    scope.signal.addEventListener('abort', cut, { once: true })
    if (scope.signal.aborted) cut()
    await Promise.all(this.#edges.map(({ server }) => close(server)))
    scope.signal.removeEventListener('abort', cut)
    await this.#pools.destroy()
  }

  async apply(table: RoutingTable): Promise<readonly RoutingRefusal[]> {
    this.#table = table
    this.#certificates.replace(table.certificates)
    for (const { server } of this.#edges) this.#setDefaultCertificate(server)
    this.#pools.keepOnly(table.backends.values())
    this.#balancer.keepOnly(table.backends)
    await this.#listenOnce()
    return []
  }

  health(): Health {
    const sinceMs = this.#sinceMs
    if (this.#isStopped) return { level: 'stopped', message: 'stopped', sinceMs }
    if (!this.isServing) return { level: 'unknown', message: 'waits for the first routes', sinceMs }
    const faults = this.#edges.map(({ fault }) => fault).filter((fault) => fault !== undefined)
    if (faults.length > 0) return { level: 'degraded', message: faults.join('; '), sinceMs }
    const where = this.#edges.map(({ address }) => formatListenAddress(address)).join(', ')
    return { level: 'ok', message: `serves Ingresses on ${where}`, sinceMs }
  }

  /** The ports that are listened on, in the order of the settings; tests ask for port 0. */
  ports(): readonly number[] {
    return this.#edges.map(({ server }) => {
      const address = server.address()
      return typeof address === 'object' ? (address?.port ?? 0) : 0
    })
  }

  #createEdges(): readonly Edge[] {
    const { limits, httpAddresses, httpsAddresses, onServed, tracer } = this.#parts
    const exchanges = {
      table: () => this.#table,
      limits,
      clients: this.#clients,
      balancer: this.#balancer,
      pools: this.#pools,
      onServed,
      tracer,
    }
    const edge = {
      limits,
      admit: (socket: Socket) => this.#admit(socket),
      contextFor: (name: string) => this.#certificates.contextFor(name),
      handle: (exchange: ConstructorParameters<typeof Exchange>[1]) => new Exchange(exchanges, exchange).run(),
    }
    return [
      ...httpAddresses.map((address) => ({
        address,
        option: '--ingress-http-addresses',
        server: createPlainServer(edge),
      })),
      ...httpsAddresses.map((address) => ({
        address,
        option: '--ingress-https-addresses',
        server: createTlsServer(edge),
      })),
    ]
  }

  /** For clients that name no host in their handshake. */
  #setDefaultCertificate(server: Server): void {
    const { defaults } = this.#certificates
    if (server instanceof tls.Server && defaults.length > 0) server.setSecureContext(secureOptions(defaults))
  }

  #admit(socket: Socket): boolean {
    if (!this.#clients.admit(socket)) return false
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    return true
  }

  async #listenOnce(): Promise<void> {
    if (this.isServing) return
    this.isServing = true
    await this.#listenWhereNot()
    this.#listening.start()
  }

  async #listenWhereNot(): Promise<void> {
    for (const edge of this.#edges.filter(({ server }) => !server.listening)) {
      const before = edge.fault
      edge.fault = await listen(edge)
      if (edge.fault !== undefined && edge.fault !== before)
        this.#parts.log.error('Ingresses are not served on an address', { reason: edge.fault })
      if (edge.fault === undefined)
        this.#parts.log.info('Ingresses are served', { on: formatListenAddress(edge.address) })
    }
  }
}

/** The reason why the address cannot be listened on, with what to do about it; undefined when it is. */
async function listen({ server, address, option }: Edge): Promise<string | undefined> {
  const { ip: host, port } = address
  try {
    const listening = once(server, 'listening')
    server.listen({ host, port, ipv6Only: ipFamily(address.ip) === 'IPv6' })
    await listening
    return undefined
  } catch (error) {
    return `${formatListenAddress(address)} ${reasonOf(error)}; ${option} chooses other addresses`
  }
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') return 'is in use by another program'
  if (code === 'EACCES') return 'may not be listened on by this user'
  return `cannot be listened on (${String(code)})`
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = once(server, 'close')
  server.close()
  await closed
}
