import { connect, type Socket } from 'node:net'
import { FrameReader, frameMessage } from '../../wire/frames.ts'
import { headerLength } from '../../wire/query.ts'
import { PendingQueries, promiseReply } from './pending-queries.ts'
import type { ConnectionSettings, UpstreamTarget } from './settings.ts'
import { UpstreamError } from './upstream-error.ts'

const connectTimeoutMs = 3_000

/** One connection, TCP or TLS, with many queries in progress. It closes after `expireMs` without any. */
class StreamConnection {
  readonly pending: PendingQueries
  readonly #where: string
  readonly #socket: Socket
  readonly #frames = new FrameReader()
  readonly #ready: Promise<void>
  readonly #maxAgeMs: number
  readonly #bornMs = performance.now()
  isOpen = true

  constructor(target: UpstreamTarget, { expireMs, maxAgeMs, sourceAddress, ...parts }: ConnectionSettings) {
    const { address, port, tls } = target
    this.#maxAgeMs = maxAgeMs === 0 ? Number.POSITIVE_INFINITY : maxAgeMs
    this.#where = `${address} port ${port} over ${tls ? 'TLS' : 'TCP'}`
    this.pending = new PendingQueries(this.#where, parts)
    const from = sourceAddress === undefined ? {} : { localAddress: sourceAddress }
    this.#socket = tls ? openTls(target, from) : connect({ host: address, port, noDelay: true, ...from })
    this.#ready = this.#watchConnect(tls ? 'secureConnect' : 'connect')
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#socket.on('error', (error) => this.#end(error))
    this.#socket.on('close', () => this.#end())
    this.#socket.setTimeout(expireMs, () => this.pending.size === 0 && this.#socket.destroy())
    this.#socket.unref()
  }

  /** True while the connection takes new queries. One that is too old only waits for its answers. */
  get takesMore(): boolean {
    return this.isOpen && performance.now() - this.#bornMs < this.#maxAgeMs
  }

  exchange(query: Buffer, timeoutMs: number): Promise<Buffer> {
    const reply = promiseReply((sink) => this.pending.add(query, timeoutMs, sink))
    void this.#ready.then(() => this.#socket.write(frameMessage(query)))
    return reply
  }

  close(): void {
    this.#socket.destroy()
    this.#end()
  }

  #watchConnect(event: 'connect' | 'secureConnect'): Promise<void> {
    return new Promise((resolve) => {
      const late = setTimeout(() => this.#socket.destroy(new Error('it took too long to connect')), connectTimeoutMs)
      this.#socket.once('close', () => clearTimeout(late))
      this.#socket.once(event, () => {
        clearTimeout(late)
        resolve()
      })
    })
  }

  #take(chunk: Buffer): void {
    for (const message of this.#frames.push(chunk)) {
      if (message.length < headerLength)
        return void this.#socket.destroy(new Error('it sent a message without a header'))
      this.pending.settle(message)
    }
  }

  #end(cause?: unknown): void {
    this.isOpen = false
    this.pending.failAll(new UpstreamError('unreachable', `the connection to ${this.#where} ended`, { cause }))
  }
}

function openTls({ address, port, tls = {} }: UpstreamTarget, from: { readonly localAddress?: string }): Socket {
  // Loaded where it is needed: an import would also bring all certificates of Node into each thread.
  return process.getBuiltinModule('node:tls').connect({
    host: address,
    port,
    ALPNProtocols: ['dot'],
    minVersion: 'TLSv1.2',
    ...from,
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    ...(tls.authority === undefined ? {} : { ca: tls.authority }),
    ...(tls.certificate === undefined ? {} : { cert: tls.certificate }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
  })
}

/** The connection to one upstream, opened on demand. */
export class StreamConnections {
  readonly #target: UpstreamTarget
  readonly #settings: ConnectionSettings
  #connection: StreamConnection | undefined

  constructor(target: UpstreamTarget, settings: ConnectionSettings) {
    this.#target = target
    this.#settings = settings
  }

  /** Sends a query and waits for its answer. Where the open connection turns out to be closed, a new one gets one more attempt. */
  async exchange(query: Buffer, timeoutMs: number): Promise<Buffer> {
    const kept = this.#connection
    this.#settings.onConnection?.(this.#target.tls ? 'tcp-tls' : 'tcp', kept?.takesMore === true)
    if (kept?.takesMore !== true) return this.#open().exchange(query, timeoutMs)
    try {
      return await kept.exchange(query, timeoutMs)
    } catch (error) {
      if (kept.isOpen || !(error instanceof UpstreamError) || error.code !== 'unreachable') throw error
      const connection = this.#connection?.takesMore ? this.#connection : this.#open()
      return connection.exchange(query, timeoutMs)
    }
  }

  close(): void {
    this.#connection?.close()
  }

  #open(): StreamConnection {
    this.#connection = new StreamConnection(this.#target, this.#settings)
    return this.#connection
  }
}
