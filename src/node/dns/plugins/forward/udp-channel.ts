import { createSocket, type Socket } from 'node:dgram'
import { ipFamily } from '../../../../model/ip.ts'
import { PendingQueries } from './pending-queries.ts'
import type { ChannelSettings, UpstreamTarget } from './settings.ts'
import { UpstreamError } from './upstream-error.ts'

/** A power of two, at most 256. */
const maxChannels = 64
const channelAgeMs = 10_000
/** A socket takes 1 to this many queries, 8.5 on average: a power of two. A socket of its own for each query costs as much as the query. */
const maxUses = 16
/** Of the 65536 IDs of a socket; beyond, an ID could be hit by guessing. */
const maxPendingPerChannel = 512

/**
 * One connected socket: the kernel lets nothing in that does not come from the upstream's own address and port, and tells at
 * once when nothing listens there. Its own port is one that the kernel chose by chance.
 */
class UdpChannel {
  readonly #where: string
  readonly #pending: PendingQueries
  readonly #bornMs = performance.now()
  readonly #maxAgeMs: number
  readonly #socket: Socket
  /** Queries that wait for the socket to be connected. */
  readonly #unsent: Buffer[] = []
  readonly #onSent = (error: Error | null) => error && this.#fail(error)
  #isConnected = false
  readonly #onEnd: (channel: UdpChannel) => void
  #usesLeft: number
  #isBroken = false
  #isLeaving = false
  #isClosed = false

  constructor({ address, port }: UpstreamTarget, settings: ChannelSettings, onEnd: (channel: UdpChannel) => void) {
    const { maxAgeMs, sourceAddress, random } = settings
    this.#onEnd = onEnd
    this.#where = `${address} port ${port}`
    this.#maxAgeMs = maxAgeMs === 0 ? channelAgeMs : Math.min(maxAgeMs, channelAgeMs)
    this.#usesLeft = 1 + (random.byte() & (maxUses - 1))
    this.#pending = new PendingQueries(this.#where, random, () => this.#isLeaving && this.#end())
    const family = ipFamily(address) === 'IPv6' ? 6 : 4
    // The upstream is an address: nothing is looked up.
    this.#socket = createSocket({ type: `udp${family}`, lookup: (host, _, done) => done(null, host, family) })
    this.#socket.on('message', (message) => this.#pending.settle(message))
    this.#socket.on('error', (error) => this.#fail(error))
    if (sourceAddress !== undefined) this.#socket.bind(0, sourceAddress)
    // The callback reports that there is no route to the address.
    this.#socket.connect(port, address, (error?: Error) => this.#onConnected(error))
    this.#socket.unref()
  }

  get takesMore(): boolean {
    return this.#usesLeft > 0 && this.isYoung && this.#pending.size < maxPendingPerChannel
  }

  get isYoung(): boolean {
    return !this.#isBroken && performance.now() - this.#bornMs < this.#maxAgeMs
  }

  exchange(query: Buffer, timeoutMs: number): Promise<Buffer> {
    this.#usesLeft -= 1
    const reply = this.#pending.add(query, timeoutMs)
    if (this.#isConnected) this.#send(query)
    else this.#unsent.push(query)
    return reply
  }

  /** Takes no more queries, and ends with the last one that is under way. */
  leave(): void {
    this.#isLeaving = true
    if (this.#pending.size === 0) this.#end()
  }

  close(): void {
    this.#end()
    this.#pending.failAll(new UpstreamError('closed', `the socket to ${this.#where} was closed`))
  }

  #onConnected(error: Error | undefined): void {
    if (error) this.#fail(error)
    this.#isConnected = true
    for (const query of this.#unsent.splice(0)) this.#send(query)
  }

  #send(query: Buffer): void {
    // Sending on a socket that was closed meanwhile throws.
    if (!this.#isClosed && !this.#isBroken) this.#socket.send(query, this.#onSent)
  }

  #end(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#socket.close()
    this.#onEnd(this)
  }

  #fail(cause: unknown): void {
    this.#isBroken = true
    this.#pending.failAll(new UpstreamError('unreachable', `${this.#where} cannot be reached over UDP`, { cause }))
  }
}

/**
 * Queries over UDP to one upstream, each from one of up to 64 ports by chance, none of which is used for more than 16 queries or ten seconds (or
 * `maxAgeMs`): who forges an answer has to guess port and ID.
 */
export class UdpChannels {
  readonly #target: UpstreamTarget
  readonly #settings: ChannelSettings
  /** Those that take queries, each in its slot. */
  readonly #channels: (UdpChannel | undefined)[] = []
  readonly #open = new Set<UdpChannel>()
  #sweeping: NodeJS.Timeout | undefined

  constructor(target: UpstreamTarget, settings: ChannelSettings) {
    this.#target = target
    this.#settings = settings
  }

  exchange(query: Buffer, timeoutMs: number): Promise<Buffer> {
    const slot = this.#settings.random.byte() & (maxChannels - 1)
    const known = this.#channels[slot]
    const isKept = known?.takesMore === true
    this.#settings.onConnection?.('udp', isKept)
    const channel = isKept ? known : this.#replace(slot)
    const reply = channel.exchange(query, timeoutMs)
    if (!channel.takesMore) this.#retire(slot)
    return reply
  }

  close(): void {
    clearTimeout(this.#sweeping)
    for (const channel of this.#open) channel.close()
    this.#channels.length = 0
  }

  #replace(slot: number): UdpChannel {
    this.#retire(slot)
    const channel = new UdpChannel(this.#target, this.#settings, (ended) => this.#open.delete(ended))
    this.#open.add(channel)
    this.#channels[slot] = channel
    this.#sweeping ??= setTimeout(() => this.#sweep(), channelAgeMs).unref()
    return channel
  }

  #retire(slot: number): void {
    this.#channels[slot]?.leave()
    this.#channels[slot] = undefined
  }

  /** Sockets that are too old go, also while nothing is asked. */
  #sweep(): void {
    for (const [slot, channel] of this.#channels.entries()) if (channel?.isYoung === false) this.#retire(slot)
    this.#sweeping = this.#open.size === 0 ? undefined : setTimeout(() => this.#sweep(), channelAgeMs).unref()
  }
}
