import { knownFfi } from '../ffi.ts'
import { findSocketCalls, type SocketCalls } from './socket-calls.ts'

type Ffi = typeof import('node:ffi')

/** EPOLL_CLOEXEC, EPOLL_CTL_ADD and EPOLL_CTL_DEL, EPOLLIN and EPOLLERR. */
const epoll = { closeOnExec: 0o2_000_000, add: 1, remove: 2, readable: 1, failed: 8 } as const
/** `struct epoll_event`: 32 bits of events, then 64 of data; packed on x64 alone. */
const event = process.arch === 'x64' ? { bytes: 12, data: 4 } : { bytes: 16, data: 8 }
const maxEvents = 64
const receivedBytes = 65_536
const receivedLength = BigInt(receivedBytes)
const sentBytes = 4_096
const readableEvent = Buffer.alloc(event.bytes)
/** How long each look of a turn of several datagrams waits for more. */
const waitMs = 1
/** How long a turn lasts at most: what else the thread does waits so long. */
const longestTurnMs = 4

export interface DatagramEvents {
  /** Receives a datagram of the peer. Its bytes are valid until the function returns. */
  readonly onMessage: (bytes: Buffer, length: number) => void
  /** The peer cannot be reached: no route, or no process listens there. */
  readonly onError: (error: unknown) => void
}

/** The owner of a socket of a sweep. */
export interface SweptSocket {
  /** Reads datagrams that wait. Returns how many it read. */
  readonly onReadable: () => number
  /** Sends what was queued. Called when a turn begins, and after each look that read datagrams. */
  readonly sendQueued?: () => void
}

/**
 * Reads the datagrams of many sockets without waiting for Node to report each: one call finds the sockets that have some. A datagram that Node
 * delivers takes several calls, objects and a buffer of 64 KiB. Node wakes the thread, so an idle socket costs nothing. While queries to peers are
 * sent and several datagrams come at a time, the thread goes on looking for up to 4 ms before it goes back to Node.
 */
export class DatagramSweep {
  readonly calls: SocketCalls
  /** The buffer of `read`. */
  readonly received = Buffer.allocUnsafeSlow(receivedBytes)
  readonly #fd: number
  readonly #sockets = new Map<number, SweptSocket>()
  readonly #senders = new Set<SweptSocket>()
  // The C library gets the pointers; the buffers stay referenced as long as it may use them.
  readonly #out = Buffer.allocUnsafeSlow(sentBytes)
  readonly #events = Buffer.allocUnsafeSlow(maxEvents * event.bytes)
  readonly #pointers: { readonly in: bigint; readonly out: bigint; readonly events: bigint }
  /** How many datagrams the next turn begins with: Node delivered them, or the turn before read them until its time was over. */
  #delivered = 0
  #isPlanned = false
  #isLooking = false

  /** Returns undefined where the system calls cannot be reached. */
  static open(): DatagramSweep | undefined {
    const ffi = knownFfi()
    if (ffi === undefined) return undefined
    const calls = findSocketCalls(ffi)
    const fd = calls.epoll_create1(epoll.closeOnExec)
    return fd === -1 ? undefined : new DatagramSweep(ffi, calls, fd)
  }

  private constructor(ffi: Ffi, calls: SocketCalls, fd: number) {
    this.calls = calls
    this.#fd = fd
    this.#pointers = {
      in: ffi.getRawPointer(this.received),
      out: ffi.getRawPointer(this.#out),
      events: ffi.getRawPointer(this.#events),
    }
  }

  add(fd: number, socket: SweptSocket): void {
    this.#sockets.set(fd, socket)
    if (socket.sendQueued !== undefined) this.#senders.add(socket)
    this.calls.epoll_ctl(this.#fd, epoll.add, fd, eventFor(fd))
  }

  /** Removes a socket before it is closed. */
  remove(fd: number): void {
    const socket = this.#sockets.get(fd)
    if (socket !== undefined) this.#senders.delete(socket)
    this.#sockets.delete(fd)
    this.calls.epoll_ctl(this.#fd, epoll.remove, fd, eventFor(fd))
  }

  /** Sends a message on a connected socket; false where the kernel does not take it. Plans a turn, which reads the answer if it is there. */
  send(fd: number, message: Buffer): boolean {
    this.plan()
    if (message.length > sentBytes) return false
    message.copy(this.#out)
    return this.calls.write(fd, this.#pointers.out, bigLength(message.length)) === message.length
  }

  /** Reads a datagram into `received`. Returns its length, -1 where none waits. */
  read(fd: number): number {
    return this.calls.read(fd, this.#pointers.in, receivedLength)
  }

  /** Notes how many datagrams came together: one that Node delivered, and those that were read behind it. Plans no turn. */
  noteDelivered(count: number): void {
    this.#delivered = count
  }

  /** Plans a turn for when Node has reported what it knows. */
  plan(): void {
    if (this.#isPlanned || this.#isLooking) return
    this.#isPlanned = true
    setImmediate(this.#takeTurn)
  }

  /** Reads what waits on all sockets now, after Node has delivered a datagram: else Node would find the rest one by one. */
  readNow(): void {
    this.#delivered += 1
    this.plan()
    this.#look(0)
  }

  close(): void {
    this.#sockets.clear()
    this.calls.close(this.#fd)
  }

  readonly #takeTurn = (): void => {
    this.#isPlanned = false
    this.#sendQueued()
    const endMs = performance.now() + longestTurnMs
    let read = this.#delivered
    this.#delivered = 0
    let found = 0
    do {
      found = this.#look(read > 1 ? waitMs : 0)
      read += found
    } while (found > 0 && performance.now() < endMs)
    if (found === 0) return
    // The time is over while datagrams still come: Node has its own in between.
    this.#delivered = read
    this.plan()
  }

  /** Reads what waits on the sockets that have some, up to 64 of them; waits for the first one. Returns how many datagrams it read. */
  #look(timeoutMs: number): number {
    if (this.#isLooking || this.#sockets.size === 0) return 0
    this.#isLooking = true
    let found = 0
    try {
      const count = this.calls.epoll_wait(this.#fd, this.#pointers.events, maxEvents, timeoutMs)
      for (let index = 0; index < count; index += 1) found += this.#readSocket(index * event.bytes)
      if (found > 0) this.#sendQueued()
    } finally {
      this.#isLooking = false
    }
    return found
  }

  #sendQueued(): void {
    for (const socket of this.#senders) socket.sendQueued?.()
  }

  /** Reads the socket of an event. An error of the socket is left to Node, which knows its text. */
  #readSocket(at: number): number {
    if ((this.#events.readUInt32LE(at) & epoll.failed) !== 0) return 0
    return this.#sockets.get(this.#events.readInt32LE(at + event.data))?.onReadable() ?? 0
  }
}

const bigLengths: bigint[] = []

/** Returns the length as the C library takes it. Each is made once: there are few, and a new object for each message would be garbage. */
function bigLength(length: number): bigint {
  bigLengths[length] ??= BigInt(length)
  return bigLengths[length]
}

function eventFor(fd: number): Buffer {
  readableEvent.writeUInt32LE(epoll.readable, 0)
  readableEvent.writeInt32LE(fd, event.data)
  return readableEvent
}
