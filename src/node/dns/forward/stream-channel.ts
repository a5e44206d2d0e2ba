import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { FrameReader, frameMessage } from '../framing/frames.ts'
import { PendingQueries } from './pending-queries.ts'
import type { UpstreamTarget } from './settings.ts'
import { UpstreamError } from './upstream-error.ts'

const connectTimeoutMs = 3_000

/** One connection, TCP or TLS, on which many queries are under way; it closes after `expireMs` without any. */
class StreamChannel {
  readonly pending: PendingQueries
  readonly #where: string
  readonly #socket: Socket
  readonly #frames = new FrameReader()
  readonly #ready: Promise<void>
  isOpen = true

  constructor(target: UpstreamTarget, expireMs: number) {
    const { address, port, tls } = target
    this.#where = `${address} port ${port} over ${tls ? 'TLS' : 'TCP'}`
    this.pending = new PendingQueries(this.#where)
    this.#socket = tls ? openTls(target) : connect({ host: address, port, noDelay: true })
    this.#ready = this.#watchConnect(tls ? 'secureConnect' : 'connect')
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#socket.on('error', (error) => this.#end(error))
    this.#socket.on('close', () => this.#end())
    this.#socket.setTimeout(expireMs, () => this.pending.size === 0 && this.#socket.destroy())
    this.#socket.unref()
  }

  exchange(query: Buffer, timeoutMs: number): Promise<Buffer> {
    const reply = this.pending.add(query, timeoutMs)
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
    for (const message of this.#frames.push(chunk)) this.pending.settle(message)
  }

  #end(cause?: unknown): void {
    this.isOpen = false
    this.pending.failAll(new UpstreamError('unreachable', `the connection to ${this.#where} ended`, { cause }))
  }
}

function openTls({ address, port, tls = {} }: UpstreamTarget): Socket {
  return connectTls({
    host: address,
    port,
    ALPNProtocols: ['dot'],
    minVersion: 'TLSv1.2',
    ...(tls.serverName === undefined ? {} : { servername: tls.serverName }),
    ...(tls.authority === undefined ? {} : { ca: tls.authority }),
    ...(tls.certificate === undefined ? {} : { cert: tls.certificate }),
    ...(tls.key === undefined ? {} : { key: tls.key }),
  })
}

/** Queries over one connection to an upstream, opened when there is something to ask. */
export class StreamChannels {
  readonly #target: UpstreamTarget
  readonly #expireMs: number
  #channel: StreamChannel | undefined

  constructor(target: UpstreamTarget, expireMs: number) {
    this.#target = target
    this.#expireMs = expireMs
  }

  /** Where a kept connection turns out to be closed, one more attempt is made on a new one. */
  async exchange(query: Buffer, timeoutMs: number): Promise<Buffer> {
    const kept = this.#channel
    if (kept?.isOpen !== true) return this.#open().exchange(query, timeoutMs)
    try {
      return await kept.exchange(query, timeoutMs)
    } catch (error) {
      if (kept.isOpen || !(error instanceof UpstreamError) || error.code !== 'unreachable') throw error
      const channel = this.#channel?.isOpen ? this.#channel : this.#open()
      return channel.exchange(query, timeoutMs)
    }
  }

  close(): void {
    this.#channel?.close()
  }

  #open(): StreamChannel {
    this.#channel = new StreamChannel(this.#target, this.#expireMs)
    return this.#channel
  }
}
