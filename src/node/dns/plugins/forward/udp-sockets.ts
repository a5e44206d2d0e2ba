import { type ConnectedDatagram, ConnectedDatagrams, type DatagramEvents } from '../../../../host/datagrams/index.ts'
import { PendingQueries, type ReplySink } from './pending-queries.ts'
import type { ConnectionSettings, UpstreamTarget } from './settings.ts'
import { UpstreamError } from './upstream-error.ts'

/** How many sockets of one upstream take queries: a power of two, at most 256. */
const maxSockets = 64
const socketAgeMs = 10_000
/** A port takes from 1 to this many queries, 8.5 on average; it is a power of two. One port for each query would cost as much as the query. */
const maxUses = 16
/** How many of the 65536 IDs of a socket may be in use; with more, an ID could be guessed. */
const maxPendingPerSocket = 512

/** Opens a socket to the upstream that `where` names in errors. */
interface Opener {
  readonly open: (events: DatagramEvents) => ConnectedDatagram
  readonly where: string
}

/**
 * One connected socket. The kernel accepts only what comes from the upstream's address and port, and reports at once when nothing listens there.
 * The kernel chooses the source port at random.
 */
class UdpSocket {
  readonly #pending: PendingQueries
  readonly #random: ConnectionSettings['random']
  readonly #maxAgeMs: number
  readonly #datagram: ConnectedDatagram
  readonly #onIdle: (socket: UdpSocket) => void
  #bornMs = 0
  #usesLeft = 0
  #isBroken = false
  #isLeaving = false
  #isClosed = false

  /** Calls `onIdle` when the socket takes no more queries and the last one has ended. */
  constructor({ open, where }: Opener, settings: ConnectionSettings, onIdle: (socket: UdpSocket) => void) {
    const { maxAgeMs, random, deadlines } = settings
    this.#onIdle = onIdle
    this.#random = random
    this.#maxAgeMs = maxAgeMs === 0 ? socketAgeMs : Math.min(maxAgeMs, socketAgeMs)
    const onEmpty = () => this.#isLeaving && this.#onIdle(this)
    this.#pending = new PendingQueries(where, { random, deadlines, onEmpty })
    this.#datagram = open({
      onMessage: (bytes, length) => this.#pending.settle(bytes, length),
      onError: (error) => this.#fail(error),
    })
    this.#beginLife()
  }

  get takesMore(): boolean {
    return this.hasUsesLeft && this.isYoung
  }

  get hasUsesLeft(): boolean {
    return this.#usesLeft > 0 && this.#pending.size < maxPendingPerSocket
  }

  get isYoung(): boolean {
    return !this.#isBroken && performance.now() - this.#bornMs < this.#maxAgeMs
  }

  ask(query: Buffer, timeoutMs: number, sink: ReplySink): void {
    this.#usesLeft -= 1
    this.#pending.add(query, timeoutMs, sink)
    if (!this.#isBroken) this.#datagram.send(query)
  }

  /** Takes no more queries on this port. */
  leave(): void {
    this.#isLeaving = true
    if (this.#pending.size === 0) this.#onIdle(this)
  }

  /** Begins anew on another port, for a socket without queries. Returns false where that cannot be done. */
  renew(): boolean {
    if (this.#isBroken || this.#isClosed || !this.#datagram.changePort()) return false
    this.#beginLife()
    return true
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#isBroken = true
    this.#isLeaving = false
    this.#datagram.close()
    this.#pending.failAll(closedError(this.#pending))
  }

  #beginLife(): void {
    this.#isLeaving = false
    this.#bornMs = performance.now()
    this.#usesLeft = 1 + (this.#random.byte() & (maxUses - 1))
  }

  #fail(cause: unknown): void {
    this.#isBroken = true
    const text = `${this.#pending.where} cannot be reached over UDP`
    this.#pending.failAll(new UpstreamError('unreachable', text, { cause }))
  }
}

function closedError({ where }: { readonly where: string }): UpstreamError {
  return new UpstreamError('closed', `the socket to ${where} was closed`)
}

/**
 * The sockets to one upstream. Each query uses one of up to 64 random ports, and no port is used for more than 16 queries or ten seconds (or
 * `maxAgeMs`): a forged answer has to guess port and ID. A socket that has ended with its port gets another port.
 */
export class UdpSockets {
  readonly #opener: Opener
  readonly #datagrams: ConnectedDatagrams
  readonly #settings: ConnectionSettings
  /** The sockets that take queries, each in its slot. */
  readonly #sockets: (UdpSocket | undefined)[] = []
  readonly #open = new Set<UdpSocket>()
  /** Sockets without queries whose ports are not used any more. */
  readonly #idle: UdpSocket[] = []
  #sweeping: NodeJS.Timeout | undefined
  #isClosed = false

  constructor({ address, port }: UpstreamTarget, settings: ConnectionSettings) {
    const datagrams = new ConnectedDatagrams({ address, port, source: settings.sourceAddress }, settings.sweep)
    this.#datagrams = datagrams
    this.#opener = { open: (events) => datagrams.open(events), where: `${address} port ${port}` }
    this.#settings = settings
  }

  ask(query: Buffer, timeoutMs: number, sink: ReplySink): void {
    if (this.#isClosed) return void sink.onFailure(closedError(this.#opener))
    const slot = this.#settings.random.byte() & (maxSockets - 1)
    const known = this.#sockets[slot]
    const isKept = known?.takesMore === true
    this.#settings.onConnection?.('udp', isKept)
    const socket = isKept ? known : this.#replace(slot)
    socket.ask(query, timeoutMs, sink)
    if (!socket.hasUsesLeft) this.#retire(slot)
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#sweeping)
    for (const socket of this.#open) socket.close()
    this.#open.clear()
    this.#idle.length = 0
    this.#sockets.length = 0
    this.#datagrams.close()
  }

  #replace(slot: number): UdpSocket {
    this.#retire(slot)
    const socket = this.#renewed() ?? this.#create()
    this.#sockets[slot] = socket
    this.#sweeping ??= setTimeout(() => this.#sweep(), socketAgeMs).unref()
    return socket
  }

  #renewed(): UdpSocket | undefined {
    const socket = this.#idle.pop()
    if (socket === undefined || socket.renew()) return socket
    this.#close(socket)
    return undefined
  }

  #create(): UdpSocket {
    const socket = new UdpSocket(this.#opener, this.#settings, (idle) => this.#keepIdle(idle))
    this.#open.add(socket)
    return socket
  }

  #keepIdle(socket: UdpSocket): void {
    if (!this.#isClosed && this.#idle.length < maxSockets) this.#idle.push(socket)
    else this.#close(socket)
  }

  #close(socket: UdpSocket): void {
    this.#open.delete(socket)
    socket.close()
  }

  #retire(slot: number): void {
    const socket = this.#sockets[slot]
    this.#sockets[slot] = undefined
    socket?.leave()
  }

  /** Ends ports that are too old, even while there are no queries, and closes the sockets that were not needed since the last time. */
  #sweep(): void {
    for (const socket of this.#idle.splice(0)) this.#close(socket)
    for (const [slot, socket] of this.#sockets.entries()) if (socket?.isYoung === false) this.#retire(slot)
    this.#sweeping = this.#open.size === 0 ? undefined : setTimeout(() => this.#sweep(), socketAgeMs).unref()
  }
}
