import { createSocket, type Socket } from 'node:dgram'
import { ipFamily } from '../../../../model/ip.ts'
import { PendingQueries } from './pending-queries.ts'
import type { ConnectionSettings, UpstreamTarget } from './settings.ts'
import { UpstreamError } from './upstream-error.ts'

/** How many sockets one upstream has: a power of two, at most 256. */
const maxSockets = 64
const socketAgeMs = 10_000
/** A socket takes from 1 to this many queries, 8.5 on average; it is a power of two. One socket for each query would cost as much as the query. */
const maxUses = 16
/** How many of the 65536 IDs of a socket may be in use; with more, an ID could be guessed. */
const maxPendingPerSocket = 512

/**
 * One connected socket. The kernel accepts only what comes from the upstream's address and port, and reports at once when nothing listens there.
 * The kernel chooses the source port at random.
 */
class UdpSocket {
  readonly #where: string
  readonly #pending: PendingQueries
  readonly #bornMs = performance.now()
  readonly #maxAgeMs: number
  readonly #socket: Socket
  /** Queries that wait until the socket is connected. */
  readonly #unsent: Buffer[] = []
  readonly #onSent = (error: Error | null) => error && this.#fail(error)
  #isConnected = false
  readonly #onEnd: (socket: UdpSocket) => void
  #usesLeft: number
  #isBroken = false
  #isLeaving = false
  #isClosed = false

  constructor({ address, port }: UpstreamTarget, settings: ConnectionSettings, onEnd: (socket: UdpSocket) => void) {
    const { maxAgeMs, sourceAddress, random } = settings
    this.#onEnd = onEnd
    this.#where = `${address} port ${port}`
    this.#maxAgeMs = maxAgeMs === 0 ? socketAgeMs : Math.min(maxAgeMs, socketAgeMs)
    this.#usesLeft = 1 + (random.byte() & (maxUses - 1))
    this.#pending = new PendingQueries(this.#where, random, () => this.#isLeaving && this.#end())
    const family = ipFamily(address) === 'IPv6' ? 6 : 4
    // The upstream is an address, so nothing is resolved.
    this.#socket = createSocket({ type: `udp${family}`, lookup: (host, _, done) => done(null, host, family) })
    this.#socket.on('message', (message) => this.#pending.settle(message))
    this.#socket.on('error', (error) => this.#fail(error))
    if (sourceAddress !== undefined) this.#socket.bind(0, sourceAddress)
    // The callback reports that there is no route to the address.
    this.#socket.connect(port, address, (error?: Error) => this.#onConnected(error))
    this.#socket.unref()
  }

  get takesMore(): boolean {
    return this.#usesLeft > 0 && this.isYoung && this.#pending.size < maxPendingPerSocket
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

  /** Takes no more queries, and closes after the last one in progress. */
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
 * The sockets to one upstream. Each query uses one of up to 64 random ports, and no port is used for more than 16 queries or ten seconds (or
 * `maxAgeMs`): a forged answer has to guess port and ID.
 */
export class UdpSockets {
  readonly #target: UpstreamTarget
  readonly #settings: ConnectionSettings
  /** The sockets that take queries, each in its slot. */
  readonly #sockets: (UdpSocket | undefined)[] = []
  readonly #open = new Set<UdpSocket>()
  #sweeping: NodeJS.Timeout | undefined

  constructor(target: UpstreamTarget, settings: ConnectionSettings) {
    this.#target = target
    this.#settings = settings
  }

  exchange(query: Buffer, timeoutMs: number): Promise<Buffer> {
    const slot = this.#settings.random.byte() & (maxSockets - 1)
    const known = this.#sockets[slot]
    const isKept = known?.takesMore === true
    this.#settings.onConnection?.('udp', isKept)
    const socket = isKept ? known : this.#replace(slot)
    const reply = socket.exchange(query, timeoutMs)
    if (!socket.takesMore) this.#retire(slot)
    return reply
  }

  close(): void {
    clearTimeout(this.#sweeping)
    for (const socket of this.#open) socket.close()
    this.#sockets.length = 0
  }

  #replace(slot: number): UdpSocket {
    this.#retire(slot)
    const socket = new UdpSocket(this.#target, this.#settings, (ended) => this.#open.delete(ended))
    this.#open.add(socket)
    this.#sockets[slot] = socket
    this.#sweeping ??= setTimeout(() => this.#sweep(), socketAgeMs).unref()
    return socket
  }

  #retire(slot: number): void {
    this.#sockets[slot]?.leave()
    this.#sockets[slot] = undefined
  }

  /** Closes sockets that are too old, even while there are no queries. */
  #sweep(): void {
    for (const [slot, socket] of this.#sockets.entries()) if (socket?.isYoung === false) this.#retire(slot)
    this.#sweeping = this.#open.size === 0 ? undefined : setTimeout(() => this.#sweep(), socketAgeMs).unref()
  }
}
