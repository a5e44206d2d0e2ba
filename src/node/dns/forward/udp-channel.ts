import { createSocket, type Socket } from 'node:dgram'
import { type Ip, ipFamily } from '../../../model/ip.ts'
import { PendingQueries } from './pending-queries.ts'
import type { ChannelSettings, UpstreamTarget } from './settings.ts'
import { UpstreamError } from './upstream-error.ts'

const maxChannels = 8
const channelAgeMs = 10_000
/** Of the 65536 IDs of a socket; beyond, an ID could be hit by guessing. */
const maxPendingPerChannel = 512

/**
 * One connected socket: the kernel lets nothing in that does not come from the upstream's own address and port, and tells at
 * once when nobody listens there.
 */
class UdpChannel {
  readonly pending: PendingQueries
  readonly #bornMs = performance.now()
  readonly #where: string
  readonly #maxAgeMs: number
  readonly #socket: Socket
  readonly #connected: Promise<void>
  #isBroken = false

  constructor({ address, port }: UpstreamTarget, { maxAgeMs, sourceAddress }: ChannelSettings) {
    this.#where = `${address} port ${port}`
    this.#maxAgeMs = maxAgeMs === 0 ? channelAgeMs : Math.min(maxAgeMs, channelAgeMs)
    this.pending = new PendingQueries(this.#where)
    this.#socket = createSocket({ type: ipFamily(address) === 'IPv6' ? 'udp6' : 'udp4' })
    this.#socket.on('message', (message) => this.pending.settle(message))
    this.#socket.on('error', (error) => this.#fail(error))
    if (sourceAddress !== undefined) this.#socket.bind(0, sourceAddress)
    this.#connected = connect(this.#socket, port, address)
    this.#socket.unref()
  }

  get takesMore(): boolean {
    return this.#isYoung && this.pending.size < maxPendingPerChannel
  }

  get isDone(): boolean {
    return !this.#isYoung && this.pending.size === 0
  }

  exchange(query: Buffer, timeoutMs: number): Promise<Buffer> {
    const reply = this.pending.add(query, timeoutMs)
    // Sending on a socket that was closed meanwhile throws.
    void this.#connected
      .then(() => this.#socket.send(query, (error) => error && this.#fail(error)))
      .catch((error: unknown) => this.#fail(error))
    return reply
  }

  close(): void {
    this.#socket.close()
    this.pending.failAll(new UpstreamError('closed', `the socket to ${this.#where} was closed`))
  }

  get #isYoung(): boolean {
    return !this.#isBroken && performance.now() - this.#bornMs < this.#maxAgeMs
  }

  #fail(cause: unknown): void {
    this.#isBroken = true
    this.pending.failAll(new UpstreamError('unreachable', `${this.#where} cannot be reached over UDP`, { cause }))
  }
}

/** Rejects where there is no route to the address: node hands that to the callback. */
function connect(socket: Socket, port: number, address: Ip): Promise<void> {
  return new Promise((resolve, reject) =>
    socket.connect(port, address, (error?: Error) => (error ? reject(error) : resolve())),
  )
}

/** Queries over UDP to one upstream, from a few source ports that change every ten seconds, or sooner with a lower maxAgeMs. */
export class UdpChannels {
  readonly #target: UpstreamTarget
  readonly #settings: ChannelSettings
  #channels: UdpChannel[] = []
  #next = 0

  constructor(target: UpstreamTarget, settings: ChannelSettings) {
    this.#target = target
    this.#settings = settings
  }

  exchange(query: Buffer, timeoutMs: number): Promise<Buffer> {
    return this.#choose().exchange(query, timeoutMs)
  }

  close(): void {
    for (const channel of this.#channels) channel.close()
    this.#channels = []
  }

  #choose(): UdpChannel {
    this.#retire()
    const usable = this.#channels.filter((channel) => channel.takesMore)
    this.#next += 1
    const channel = usable.length < maxChannels ? undefined : usable[this.#next % usable.length]
    this.#settings.onChannel?.('udp', channel !== undefined)
    if (channel) return channel
    const made = new UdpChannel(this.#target, this.#settings)
    this.#channels.push(made)
    return made
  }

  /** A channel that takes no more queries goes when its last one is answered. */
  #retire(): void {
    const done = this.#channels.filter((channel) => channel.isDone)
    if (done.length === 0) return
    for (const channel of done) channel.close()
    this.#channels = this.#channels.filter((channel) => !done.includes(channel))
  }
}
