import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import { type ClientHttp2Session, connect } from 'node:http2'
import { type AddressInfo, createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ip } from '../../src/model/ip.ts'
import type { Backend, RoutingChange, RoutingTable } from '../../src/model/routing-table.ts'
import type { ServedRequest } from '../../src/node/ingress/driver.ts'
import { HaproxyDriver, type HaproxyParts } from '../../src/node/ingress/haproxy/driver.ts'
import { HaproxyProcess } from '../../src/node/ingress/haproxy/process.ts'
import { createRecordingLogger } from './recording-logger.ts'
import { createSelfSigned } from './self-signed.ts'

const loopback = '127.0.0.1' as Ip

/** Why haproxy cannot run here; false where it can. */
export function haproxySkipReason(): string | false {
  if (process.getuid?.() !== 0) return 'needs root: the workers of haproxy change their root and user'
  return existsSync('/usr/sbin/haproxy') ? false : 'needs haproxy'
}

/** A haproxy of its own on loopback. `served` are the lines of its access log. */
export class HaproxyLab {
  readonly folder = mkdtempSync(join(tmpdir(), 'plt-haproxy-'))
  readonly served: ServedRequest[] = []
  readonly lines: string[]
  readonly httpPort: number
  readonly httpsPort: number
  readonly parts: HaproxyParts
  driver: HaproxyDriver

  static async create(
    settings: Partial<Pick<HaproxyParts, 'limits' | 'accessLog' | 'tracing' | 'tracer'>> = {},
  ): Promise<HaproxyLab> {
    return new HaproxyLab(await freePort(), await freePort(), settings)
  }

  private constructor(httpPort: number, httpsPort: number, settings: Partial<HaproxyParts>) {
    const { log, lines } = createRecordingLogger()
    this.httpPort = httpPort
    this.httpsPort = httpsPort
    this.lines = lines
    this.parts = {
      folder: this.folder,
      httpAddresses: [{ ip: loopback, port: httpPort }],
      httpsAddresses: [{ ip: loopback, port: httpsPort }],
      accessLog: 0,
      limits: testLimits,
      onServed: (request) => this.served.push(request),
      log,
      ...settings,
    }
    this.driver = new HaproxyDriver(this.parts)
  }

  /** Applies a table with a certificate for all hosts and opens a connection of HTTP/2 to it. */
  async openSession(table: RoutingTable): Promise<ClientHttp2Session> {
    const { cert, key } = createSelfSigned()
    const certificate = { secret: 'a/b', hosts: [], fingerprint: 'a', chainPem: cert, keyPem: key, notAfterMs: 0 }
    const whole = { ...table, certificates: [certificate] }
    await this.driver.apply(whole, wholeChange(whole))
    const session = connect(`https://127.0.0.1:${this.httpsPort}`, { rejectUnauthorized: false })
    await once(session, 'remoteSettings')
    return session
  }

  /** Makes the driver that an agent has after it started again, with other settings if need be. */
  async restartDriver(settings: Partial<Pick<HaproxyParts, 'limits' | 'httpAddresses'>> = {}): Promise<void> {
    await this.driver.stop({ signal: AbortSignal.timeout(5000) })
    this.driver = new HaproxyDriver({ ...this.parts, ...settings })
    await this.driver.start()
  }

  /** Pids of the master and of the worker that accepts connections. */
  async processes(): Promise<{ readonly master: number; readonly worker: number }> {
    const { master, worker = 0 } = await new HaproxyProcess(this.folder).processes()
    return { master, worker }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.driver.stop({ signal: AbortSignal.timeout(5000) })
    await this.driver.remove()
  }
}

export const testLimits: HaproxyParts['limits'] = {
  maxHeaderBytes: 16_384,
  maxConnections: 1000,
  connectionsPerClient: 0,
  requestsPerClient: 0,
  maxBodyBytes: 1_000_000,
  headerTimeoutMs: 2000,
  idleTimeoutMs: 5000,
  backendTimeoutMs: 5000,
}

/** Everything of a table may have changed. */
export function wholeChange(...tables: readonly RoutingTable[]): RoutingChange {
  return {
    hosts: new Set(tables.flatMap(({ hosts }) => [...hosts.keys()])),
    backends: new Set(tables.flatMap(({ backends }) => [...backends.keys()])),
    certificates: true,
  }
}

/** Copies a table with other endpoints for each backend. */
export function withEndpoints(table: RoutingTable, portsOf: (backend: Backend) => readonly number[]): RoutingTable {
  const backends = Array.from(table.backends, ([id, backend]): [string, Backend] => [
    id,
    { ...backend, endpoints: portsOf(backend).map((port) => ({ ip: loopback, port })) },
  ])
  return { ...table, backends: new Map(backends) }
}

/** Web servers that answer with their port and the request as JSON. */
export class EchoServers {
  readonly ports: number[] = []
  readonly #servers: ReturnType<typeof createServer>[] = []

  static async start(count: number): Promise<EchoServers> {
    const servers = new EchoServers()
    for (let index = 0; index < count; index += 1) await servers.add()
    return servers
  }

  async add(): Promise<number> {
    const server = createServer((request, response) => {
      request.resume()
      const port = request.socket.localPort
      const { method, url, rawHeaders, headers } = request
      response.end(JSON.stringify({ port, method, url, rawHeaders, headers }))
    })
    // haproxy closes idle connections itself; a server that did would race with requests on their way.
    server.keepAliveTimeout = 60_000
    await new Promise<void>((resolve) => server.listen(0, loopback, resolve))
    this.#servers.push(server)
    const { port } = server.address() as AddressInfo
    this.ports.push(port)
    return port
  }

  [Symbol.dispose](): void {
    for (const server of this.#servers) {
      server.closeAllConnections()
      server.close()
    }
  }
}

interface RawAnswer {
  /** Status of the first answer; 0 for none. */
  readonly status: number
  readonly text: string
  readonly body: string
  /** The server closed the connection. */
  readonly isClosed: boolean
}

/** Sends bytes as they are and reads until the first answer is whole, the server closes, or `timeoutMs` has passed. */
export async function sendRaw(port: number, bytes: string, timeoutMs = 3000, answers = 1): Promise<RawAnswer> {
  const socket = createConnection(port, loopback)
  let text = ''
  let isClosed = false
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeoutMs)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => {
      text += chunk
      if (countAnswers(text) >= answers) end()
    })
    // A connection that is reset is closed too.
    socket.on('error', () => {})
    socket.on('close', () => {
      isClosed = true
      end()
    })
    socket.write(bytes, 'latin1')
  })
  socket.destroy()
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(text)?.[1] ?? 0)
  return { status, text, body: text.slice(text.indexOf('\r\n\r\n') + 4), isClosed }
}

/** Counts whole answers, each with its length. */
function countAnswers(text: string): number {
  let rest = text
  for (let count = 0; ; count += 1) {
    const end = rest.indexOf('\r\n\r\n')
    const length = Number(/content-length: (\d+)/i.exec(rest.slice(0, Math.max(0, end)))?.[1] ?? Number.NaN)
    if (end < 0 || !(rest.length >= end + 4 + length)) return count
    rest = rest.slice(end + 4 + length)
  }
}

/** Asks for a path of a host as a client would write it. An empty host is sent as an empty header. */
export function ask(port: number, host: string, path: string, headers = ''): Promise<RawAnswer> {
  const method = path === '*' ? 'OPTIONS' : 'GET'
  return sendRaw(port, `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n${headers}\r\n`)
}

/** Finds a port below those that the kernel gives to clients, so that no connection of another test takes it meanwhile. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000)
    const server = createServer()
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, loopback, () => resolve(true))
    })
    await new Promise((resolve) => server.close(resolve))
    if (isFree) return port
  }
}
