import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Server as NetServer } from 'node:net'
import type { ObjectKey } from '../../src/model/api-object.ts'
import type { Ip } from '../../src/model/ip.ts'
import type { Backend, RoutingTable, ServedCertificate } from '../../src/model/routing-table.ts'
import type { IngressLimits, ServedRequest } from '../../src/node/ingress/driver.ts'
import { InProcessDriver } from '../../src/node/ingress/in-process/driver.ts'
import { silentLogger, type Tracer } from '../../src/observe/index.ts'

const testLimits: IngressLimits = {
  maxHeaderBytes: 16 * 1024,
  maxConnections: 1_000,
  connectionsPerClient: 0,
  requestsPerClient: 0,
  maxBodyBytes: 0,
  headerTimeoutMs: 10_000,
  idleTimeoutMs: 10_000,
  backendTimeoutMs: 10_000,
}

const loopback = '127.0.0.1' as Ip

/** A driver on loopback, HTTP first, then HTTPS; `served` are the requests it reports. */
export class IngressLab {
  readonly driver: InProcessDriver
  readonly served: ServedRequest[] = []

  constructor(limits: Partial<IngressLimits> = {}, httpPort = 0, tracer?: Tracer) {
    const anyPort = [{ ip: loopback, port: 0 }]
    this.driver = new InProcessDriver({
      httpAddresses: [{ ip: loopback, port: httpPort }],
      httpsAddresses: anyPort,
      limits: { ...testLimits, ...limits },
      onServed: (request) => this.served.push(request),
      tracer,
      log: silentLogger,
      retryMs: 20,
    })
  }

  get httpPort(): number {
    return this.driver.ports()[0] ?? 0
  }

  get httpsPort(): number {
    return this.driver.ports()[1] ?? 0
  }

  async start(): Promise<void> {
    await this.driver.start()
  }

  /** Each backend by the path prefix at which all hosts meet it. */
  async route(backends: Readonly<Record<string, Backend>>, certificates: readonly ServedCertificate[] = []) {
    await this.driver.apply(tableOf(backends, certificates))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.driver.stop({ signal: AbortSignal.timeout(1) })
  }
}

function tableOf(
  backends: Readonly<Record<string, Backend>>,
  certificates: readonly ServedCertificate[],
): RoutingTable {
  const routes = Object.entries(backends).map(([path, { id }]) => {
    const route = { ingress: 'default/test' as ObjectKey, backend: id, path, kind: 'prefix' } as const
    return [path.replace(/\/$/, ''), route] as const
  })
  const longestPrefix = Math.max(0, ...routes.map(([path]) => path.length))
  return {
    hosts: new Map([['', { exact: new Map(), prefix: new Map(routes), longestPrefix }]]),
    backends: new Map(Object.values(backends).map((backend) => [backend.id, backend])),
    certificates,
  }
}

/** A backend with endpoints on loopback. */
export function backendOn(ports: readonly number[], settings: Partial<Backend> = {}): Backend {
  return {
    id: `default_web_${ports.join('-') || 'none'}`,
    service: 'default/web' as ObjectKey,
    port: '80',
    endpoints: ports.map((port) => ({ ip: loopback, port })),
    balance: 'round-robin',
    protocol: 'http1',
    ...settings,
  }
}

/** A web server on loopback that is closed with its scope. */
export async function startBackend(handler: RequestListener) {
  const server = createServer(handler)
  await listen(server)
  return closing(server)
}

export async function listen(server: NetServer): Promise<void> {
  const listening = once(server, 'listening')
  server.listen(0, loopback)
  await listening
}

export function closing(server: Server) {
  const port = (server.address() as AddressInfo).port
  const close = async () => {
    server.closeAllConnections()
    server.close()
  }
  return { server, port, [Symbol.asyncDispose]: close }
}

/** A backend that answers with what it was asked. */
export const echo: RequestListener = (request, response) => {
  response.setHeader('x-method', request.method ?? '')
  response.end(JSON.stringify({ url: request.url, headers: request.headers }))
}
