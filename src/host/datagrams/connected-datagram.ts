import { createSocket, type Socket } from 'node:dgram'
import { type Ip, ipFamily } from '../../model/ip.ts'
import { type DatagramEvents, DatagramSweep } from './datagram-sweep.ts'
import {
  addressLengthOf,
  datagramSocket,
  familyOf,
  type SocketCalls,
  socketAddress,
  socketOption,
} from './socket-calls.ts'

export interface DatagramPeer {
  readonly address: Ip
  readonly port: number
  /** The source address of the socket, of the peer's family. */
  readonly source?: Ip | undefined
}

/** A UDP socket that is connected to one peer: the kernel accepts only what comes from its address and port. It has a random port of its own. */
export interface ConnectedDatagram {
  send(message: Buffer): void
  /** Changes to another random port. Returns false where that cannot be done; then the caller opens another socket. */
  changePort(): boolean
  close(): void
}

/** Opens sockets to one peer. With `node:ffi` they send without objects of Node, and change their port instead of being opened again. */
export class ConnectedDatagrams {
  readonly #peer: DatagramPeer
  readonly #own: DatagramSweep | undefined
  readonly #sweep: DatagramSweep | undefined

  /** The sockets are read by `sweep`; without one they have their own. */
  constructor(peer: DatagramPeer, sweep?: DatagramSweep) {
    this.#peer = peer
    this.#own = sweep === undefined ? DatagramSweep.open() : undefined
    this.#sweep = sweep ?? this.#own
  }

  open(events: DatagramEvents): ConnectedDatagram {
    const swept = this.#sweep && SweptDatagram.open(this.#sweep, this.#peer, events)
    return swept ?? new NodeDatagram(this.#peer, events)
  }

  /** Ends what the sockets share; they are closed before. */
  close(): void {
    this.#own?.close()
  }
}

function createNodeSocket({ address }: DatagramPeer, { onMessage, onError }: DatagramEvents): Socket {
  const family = ipFamily(address) === 'IPv6' ? 6 : 4
  // The peer is an address, so nothing is resolved.
  const socket = createSocket({ type: `udp${family}`, lookup: (host, _, done) => done(null, host, family) })
  socket.on('message', (message) => onMessage(message, message.length))
  socket.on('error', onError)
  return socket.unref()
}

/** A socket of `node:dgram`. */
class NodeDatagram implements ConnectedDatagram {
  readonly #socket: Socket
  /** Messages that wait until the socket is connected. */
  readonly #unsent: Buffer[] = []
  readonly #onSent: (error: Error | null) => void
  #isConnected = false
  #isClosed = false

  constructor(peer: DatagramPeer, events: DatagramEvents) {
    this.#onSent = (error) => error && events.onError(error)
    this.#socket = createNodeSocket(peer, events)
    if (peer.source !== undefined) this.#socket.bind(0, peer.source)
    // The callback reports that there is no route to the address.
    this.#socket.connect(peer.port, peer.address, (error?: Error) => {
      if (error) events.onError(error)
      this.#isConnected = true
      for (const message of this.#unsent.splice(0)) this.#sendNow(message)
    })
  }

  send(message: Buffer): void {
    if (this.#isConnected) this.#sendNow(message)
    else this.#unsent.push(message)
  }

  changePort(): boolean {
    return false
  }

  close(): void {
    this.#isClosed = true
    this.#socket.close()
  }

  #sendNow(message: Buffer): void {
    // Sending on a socket that was closed meanwhile throws.
    if (!this.#isClosed) this.#socket.send(message, this.#onSent)
  }
}

/** AF_UNSPEC: connecting to it ends the connection, and the kernel forgets the port that it chose (connect(2)). */
const nowhere = Buffer.alloc(16)

/**
 * A socket that `node:dgram` watches and closes, and that is written by a call of the C library. What Node does not deliver first, the sweep
 * reads.
 */
class SweptDatagram implements ConnectedDatagram {
  readonly #sweep: DatagramSweep
  readonly #fd: number
  readonly #peer: DatagramPeer
  readonly #place: Buffer
  readonly #socket: Socket
  readonly #onSent: (error: Error | null) => void
  #isClosed = false

  static open(sweep: DatagramSweep, peer: DatagramPeer, events: DatagramEvents): SweptDatagram | undefined {
    const { calls } = sweep
    const fd = calls.socket(familyOf(peer.address), datagramSocket, 0)
    if (fd === -1) return undefined
    if (bindSource(calls, fd, peer)) return new SweptDatagram(sweep, fd, peer, events)
    calls.close(fd)
    return undefined
  }

  private constructor(sweep: DatagramSweep, fd: number, peer: DatagramPeer, events: DatagramEvents) {
    this.#sweep = sweep
    this.#fd = fd
    this.#peer = peer
    this.#place = socketAddress(peer.address, peer.port)
    this.#onSent = (error) => error && events.onError(error)
    this.#socket = createNodeSocket(peer, {
      onError: events.onError,
      onMessage: (bytes, length) => {
        events.onMessage(bytes, length)
        sweep.readNow()
      },
    })
    this.#socket.bind({ fd, exclusive: true })
    // Node lets its sockets share a port. Two sockets to one peer that the kernel gives the same port would take each other's answers.
    const [level, name] = socketOption.reuseAddress
    sweep.calls.setsockopt(fd, level, name, Buffer.alloc(4), 4)
    sweep.add(fd, {
      onReadable: () => {
        const length = sweep.read(fd)
        if (length < 0) return 0
        events.onMessage(sweep.received, length)
        return 1
      },
    })
    this.#connect()
  }

  send(message: Buffer): void {
    if (this.#isClosed) return
    // Node's own call says why the kernel did not take it.
    if (!this.#sweep.send(this.#fd, message))
      this.#socket.send(message, this.#peer.port, this.#peer.address, this.#onSent)
  }

  changePort(): boolean {
    this.#sweep.calls.connect(this.#fd, nowhere, nowhere.length)
    return this.#connect()
  }

  close(): void {
    this.#isClosed = true
    this.#sweep.remove(this.#fd)
    this.#socket.close()
  }

  #connect(): boolean {
    return this.#sweep.calls.connect(this.#fd, this.#place, addressLengthOf(this.#peer.address)) === 0
  }
}

function bindSource(calls: SocketCalls, fd: number, { source }: DatagramPeer): boolean {
  return source === undefined || calls.bind(fd, socketAddress(source, 0), addressLengthOf(source)) === 0
}
