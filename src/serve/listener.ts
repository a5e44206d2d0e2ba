import { once } from 'node:events'
import http, { type RequestListener, type Server, type ServerOptions } from 'node:http'
import https from 'node:https'
import type { AddressInfo, ListenOptions, Socket } from 'node:net'
import type { Component, Health } from '../loop/component.ts'
import type { Ip } from '../model/ip.ts'
import type { Logger } from '../observe/index.ts'
import { inTurn } from './in-turn.ts'
import { NewConnections } from './new-connections.ts'
import { OpenConnections } from './open-connections.ts'
import { keepWhilePaused } from './paused-socket.ts'
import { toServeError } from './serve-error.ts'
import { claimSocketPath, listenPrivately } from './socket-path.ts'
import { takeUpgrades, type UpgradeHandling } from './upgrades.ts'

/** PEM texts. With `clientCa` clients are asked for a certificate; one that is missing or foreign still connects. */
export interface TlsMaterial {
  readonly certificate: string
  readonly key: string
  readonly clientCa?: string
}

export interface ListenerOptions {
  /** The component's name. */
  readonly name: string
  readonly handler: RequestListener
  readonly log: Logger
  /** The flag that chooses the port, with its dashes. */
  readonly portOption?: string
  /** Absent: a request for another protocol is an ordinary request. */
  readonly upgrades?: UpgradeHandling
}

export interface TcpListenerOptions extends ListenerOptions {
  readonly address: Ip
  /** 0 lets the system choose; see `Listener.port`. */
  readonly port: number
}

/** Limits of requests. Answers have no time limit, because a watch has no end. */
const requestLimits: ServerOptions = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 60_000,
  maxHeaderSize: 32 * 1024,
  connectionsCheckingInterval: 1_000,
}

const handshakeTimeoutMs = 10_000

/** The parts that differ between plain, TLS and unix listeners. */
interface Binding {
  readonly where: string
  /** Whether clients have addresses. */
  readonly hasClientsAfar: boolean
  open(): Promise<{ server: Server; listen: () => void }>
}

/** An HTTP server as a component. `start` rejects with a ServeError; `stop` finishes requests in flight until its deadline. */
export class Listener implements Component {
  readonly name: string
  readonly #options: ListenerOptions
  readonly #binding: Binding
  readonly #connections = new OpenConnections()
  readonly #newConnections = new NewConnections()
  #server: Server | undefined
  #health: Health = { level: 'unknown', message: 'not started', sinceMs: Date.now() }

  constructor(options: ListenerOptions, binding: Binding) {
    this.name = options.name
    this.#options = options
    this.#binding = binding
  }

  async start(): Promise<void> {
    try {
      const { server, listen } = await this.#binding.open()
      server.on('request', keepWhilePaused)
      server.on('request', inTurn(this.#options.handler))
      if (this.#options.upgrades !== undefined) takeUpgrades(server, this.#options.upgrades)
      this.#connections.watch(server)
      if (this.#binding.hasClientsAfar) this.#newConnections.watch(server)
      const listening = once(server, 'listening')
      listen()
      await listening
      this.#server = server
    } catch (error) {
      throw toServeError(this.name, this.#binding.where, error, this.#options.portOption)
    }
    this.#server.on('error', (error) => this.#options.log.error('the listener failed', { error }))
    this.#setHealth('ok', `listening on ${this.#binding.where}`)
    this.#options.log.info('listening', { name: this.name, on: this.#binding.where, port: this.port })
  }

  async stop({ signal }: { signal: AbortSignal }): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    this.#setHealth('stopped', 'stopped')
    const closed = once(server, 'close')
    server.close()
    const cutOff = () => this.#connections.destroy()
    signal.addEventListener('abort', cutOff, { once: true })
    if (signal.aborted) cutOff()
    this.#connections.drain(server)
    await closed
    signal.removeEventListener('abort', cutOff)
  }

  health(): Health {
    return this.#health
  }

  /** Marks a connection as identified: it no longer closes to make room for new ones. */
  settle(socket: Socket): void {
    this.#newConnections.settle(socket)
  }

  /** The port of the listener; undefined before `start`, after `stop` and for unix sockets. */
  get port(): number | undefined {
    const address: AddressInfo | string | null | undefined = this.#server?.address()
    return typeof address === 'object' ? address?.port : undefined
  }

  #setHealth(level: Health['level'], message: string): void {
    this.#health = { level, message, sinceMs: Date.now() }
  }
}

export function httpListener(options: TcpListenerOptions): Listener {
  return new Listener(options, {
    where: describeAddress(options),
    hasClientsAfar: true,
    open: async () => {
      const server = http.createServer(requestLimits)
      return { server, listen: () => server.listen(listenOptions(options)) }
    },
  })
}

/** A listener with TLS 1.2 or newer; `replaceTls` serves another certificate to new connections. */
export function httpsListener(
  options: TcpListenerOptions & { readonly tls: TlsMaterial },
): Listener & { replaceTls(tls: TlsMaterial): void } {
  let current = options.tls
  let server: https.Server | undefined
  const listener = new Listener(options, {
    where: describeAddress(options),
    hasClientsAfar: true,
    open: async () => {
      const opened = https.createServer({ ...requestLimits, ...tlsOptions(current) })
      server = opened
      return { server: opened, listen: () => opened.listen(listenOptions(options)) }
    },
  })
  const replaceTls = (tls: TlsMaterial) => {
    server?.setSecureContext(tlsOptions(tls))
    current = tls
  }
  return Object.assign(listener, { replaceTls })
}

/** Creates a listener on a unix socket of mode 0600. It replaces the socket of a dead process, never that of a live one. */
export function unixListener(options: ListenerOptions & { readonly path: string }): Listener {
  return new Listener(options, {
    where: options.path,
    hasClientsAfar: false,
    open: async () => {
      await claimSocketPath(options.name, options.path)
      const server = http.createServer(requestLimits)
      return { server, listen: () => listenPrivately(server, options.path) }
    },
  })
}

/** TLS settings. Handlers check client certificates (`socket.authorized`), so that a bearer token can replace one. */
function tlsOptions({ certificate, key, clientCa }: TlsMaterial): https.ServerOptions {
  return {
    cert: certificate,
    key,
    minVersion: 'TLSv1.2',
    handshakeTimeout: handshakeTimeoutMs,
    rejectUnauthorized: false,
    requestCert: clientCa !== undefined,
    ...(clientCa === undefined ? {} : { ca: clientCa }),
  }
}

function listenOptions({ address, port }: TcpListenerOptions): ListenOptions {
  return { host: address, port }
}

function describeAddress({ address, port }: TcpListenerOptions): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}
