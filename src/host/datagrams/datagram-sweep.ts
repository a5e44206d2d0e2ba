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

export interface DatagramEvents {
  /** Receives a datagram of the peer. Its bytes are valid until the function returns. */
  readonly onMessage: (bytes: Buffer, length: number) => void
  /** The peer cannot be reached: no route, or no process listens there. */
  readonly onError: (error: unknown) => void
}

/**
 * Reads the datagrams of many sockets without waiting for Node to report each: one call finds the sockets that have some, one call reads a
 * datagram into reused memory. A socket that Node delivers takes twice the calls and a buffer of 64 KiB. Node wakes the thread, so an idle socket
 * costs nothing and no datagram waits for a sweep.
 */
export class DatagramSweep {
  readonly calls: SocketCalls
  readonly #fd: number
  readonly #readers = new Map<number, DatagramEvents>()
  // The C library gets the pointers; the buffers stay referenced as long as it may use them.
  readonly #in = Buffer.allocUnsafeSlow(receivedBytes)
  readonly #out = Buffer.allocUnsafeSlow(sentBytes)
  readonly #events = Buffer.allocUnsafeSlow(maxEvents * event.bytes)
  readonly #pointers: { readonly in: bigint; readonly out: bigint; readonly events: bigint }
  #isPlanned = false
  #isReading = false

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
      in: ffi.getRawPointer(this.#in),
      out: ffi.getRawPointer(this.#out),
      events: ffi.getRawPointer(this.#events),
    }
  }

  add(fd: number, events: DatagramEvents): void {
    this.#readers.set(fd, events)
    this.calls.epoll_ctl(this.#fd, epoll.add, fd, eventFor(fd))
  }

  /** Removes a socket before it is closed. */
  remove(fd: number): void {
    this.#readers.delete(fd)
    this.calls.epoll_ctl(this.#fd, epoll.remove, fd, eventFor(fd))
  }

  /** Sends a message on a connected socket; false where the kernel does not take it. Plans a sweep for the end of this turn of the event loop. */
  send(fd: number, message: Buffer): boolean {
    if (!this.#isPlanned) {
      this.#isPlanned = true
      setImmediate(() => {
        this.#isPlanned = false
        this.readAll()
      })
    }
    if (message.length > sentBytes) return false
    message.copy(this.#out)
    return this.calls.write(fd, this.#pointers.out, bigLength(message.length)) === message.length
  }

  close(): void {
    this.#readers.clear()
    this.calls.close(this.#fd)
  }

  /** Reads what waits on all sockets. */
  readAll(): void {
    if (this.#isReading || this.#readers.size === 0) return
    this.#isReading = true
    const count = this.calls.epoll_wait(this.#fd, this.#pointers.events, maxEvents, 0)
    for (let index = 0; index < count; index += 1) this.#read(index * event.bytes)
    this.#isReading = false
  }

  /** Reads one datagram of the socket of an event. An error of the socket is left to Node, which knows its text. */
  #read(at: number): void {
    if ((this.#events.readUInt32LE(at) & epoll.failed) !== 0) return
    const fd = this.#events.readInt32LE(at + event.data)
    const reader = this.#readers.get(fd)
    if (reader === undefined) return
    const length = this.calls.read(fd, this.#pointers.in, receivedLength)
    if (length >= 0) reader.onMessage(this.#in, length)
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
