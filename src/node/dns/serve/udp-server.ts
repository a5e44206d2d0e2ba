import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type Datagram, DatagramBatch, type DatagramSweep, readSource } from '../../../host/datagrams/index.ts'
import { ipFamily } from '../../../model/ip.ts'
import { listenFailure } from '../errors.ts'
import type { Client, Listener } from '../plugins/client.ts'
import type { GiveCopy } from '../resolver/batches.ts'
import { unpackDatagrams } from '../resolver/datagram-pack.ts'
import type { DatagramReplies } from './datagram-question.ts'
import { type Responder, responderResult } from './responder.ts'
import { steeringProgram } from './steering.ts'

const scratchBytes = 65_536
/** The most bytes of datagrams that wait for the kernel; more are dropped, as a full network would do. */
const maxQueuedBytes = 8 * 1024 * 1024

/** A datagram whose answer the resolver has. Its bytes and its client are valid until the function returns. */
export interface ReceivedDatagram {
  readonly bytes: Buffer
  readonly length: number
  readonly client: Client
  readonly source: Buffer
  /** Sends the answer. */
  readonly replies: DatagramReplies
}

/** Returns false where the thread with the resolver does not take the datagram, which is left to its receiver. */
export type Forward = (received: ReceivedDatagram) => boolean

export interface UdpParts {
  /** Gets the datagrams whose answer the resolver has; without it they are answered like all that take waiting. */
  readonly forward?: Forward | undefined
  /** Reads the sockets of the thread; without it only Node reports what waits. */
  readonly sweep?: DatagramSweep | undefined
}

/** Answers datagrams on one address and port, which it shares with the other threads. */
export class UdpServer implements DatagramReplies {
  readonly #listener: Listener
  readonly #responder: Responder
  readonly #forward: Forward | undefined
  readonly #sweep: DatagramSweep | undefined
  readonly #socket: Socket
  #scratch = Buffer.allocUnsafeSlow(scratchBytes)
  #batch: DatagramBatch | undefined
  #clients: readonly BatchClient[] = []
  #isPlanned = false

  constructor(listener: Listener, responder: Responder, { forward, sweep }: UdpParts = {}) {
    this.#listener = listener
    this.#responder = responder
    this.#forward = forward
    this.#sweep = sweep
    const type = ipFamily(listener.current.address) === 'IPv6' ? 'udp6' : 'udp4'
    // Answers go to addresses, never to names, so nothing is resolved.
    const lookup: NonNullable<Parameters<typeof createSocket>[0] & object>['lookup'] = (address, _, done) =>
      done(null, address, type === 'udp6' ? 6 : 4)
    this.#socket = createSocket({ type, reusePort: true, ipv6Only: type === 'udp6', lookup })
  }

  /** Throws DnsError `listen-failed`. */
  async listen(): Promise<void> {
    const { address, port } = this.#listener.current
    // Without a name to resolve, the socket listens before bind() returns.
    const listening = once(this.#socket, 'listening')
    this.#batch = DatagramBatch.open(address, port)
    this.#clients = this.#batch?.datagrams.map((datagram) => new BatchClient(datagram, this.#listener)) ?? []
    this.#socket.bind(this.#batch ? { fd: this.#batch.fd, exclusive: true } : { address, port, exclusive: true })
    try {
      await listening
    } catch (cause) {
      throw listenFailure(address, port, 'UDP', cause)
    }
    this.steer()
    this.#socket.setRecvBufferSize(4 * 1024 * 1024)
    this.#socket.on('error', () => {})
    this.#socket.on('message', (message, from) => {
      this.#take(message, from)
      this.#sweep?.noteDelivered(1 + this.#takeWaiting())
    })
    const batch = this.#batch
    if (batch !== undefined)
      this.#sweep?.add(batch.fd, { onReadable: () => this.#takeWaiting(), sendQueued: () => batch.send() })
  }

  /** Has the kernel choose the thread for a datagram by its name, as its address is configured now. */
  steer(): void {
    this.#batch?.steer(steeringProgram(this.#listener.current.memoryZones))
  }

  async close(): Promise<void> {
    const closed = once(this.#socket, 'close')
    if (this.#batch !== undefined) this.#sweep?.remove(this.#batch.fd)
    // Another file may get this descriptor's number from now on.
    this.#batch = undefined
    this.#socket.close()
    await closed
  }

  /** Answers one datagram. One from port 0 cannot be answered: sending to it throws, and that would end the process. */
  #take(message: Buffer, from: RemoteInfo): void {
    if (from.port === 0) return
    // The kernel may not have taken an answer yet, which is still in the scratch buffer: that answer keeps the buffer.
    if (this.#socket.getSendQueueCount() > 0) this.#scratch = Buffer.allocUnsafeSlow(scratchBytes)
    const client: Client = { address: from.address, port: from.port, transport: 'udp', listener: this.#listener }
    const length = this.#responder.respondNow(message, message.length, client, this.#scratch)
    if (length > 0) this.#socket.send(this.#scratch, 0, length, from.port, from.address)
    else if (length < 0) this.#answerWaiting(length, message, message.length, client, this.#batch?.sourceFor(from))
  }

  /**
   * Answers the datagrams that arrived with the first one or while it was answered, at most one batch. Node delivers 32 datagrams in a turn of
   * the event loop, so with their batches connections and configuration changes wait for 2,080 at most. Returns how many there were.
   */
  #takeWaiting(): number {
    const batch = this.#batch
    const count = batch?.receive() ?? 0
    if (batch === undefined || count === 0) return 0
    for (let index = 0; index < count; index += 1) this.#takeOne(batch, index)
    batch.send()
    return count
  }

  #takeOne(batch: DatagramBatch, index: number): void {
    const client = this.#clients[index]
    if (client === undefined || client.port === 0) return
    const { bytes, length } = client.datagram
    const answered = this.#responder.respondNow(bytes, length, client, batch.answer)
    if (answered > 0) batch.reply(index, answered)
    else if (answered < 0) this.#answerWaiting(answered, bytes, length, client, batch.sourceOf(index))
  }

  /** Answers a datagram that a code of `responderResult` leaves to others. */
  #answerWaiting(code: number, bytes: Buffer, length: number, client: Client, source: Buffer | undefined): void {
    const isForwarded =
      code === responderResult.resolver &&
      source !== undefined &&
      this.#forward?.({ bytes, length, client, source, replies: this }) === true
    if (!isForwarded) this.#answerLater(Buffer.from(bytes.subarray(0, length)), keepClient(client), source)
  }

  /** The buffer for the next answer of `reply`. */
  get answer(): Buffer {
    return this.#batch?.answer ?? this.#scratch
  }

  /** Sends the first `length` bytes of `answer`, with the other answers of this turn of the event loop. */
  reply(source: Buffer, length: number): void {
    const batch = this.#batch
    if (batch === undefined) return
    batch.queue(source, length)
    this.#planSend(batch)
  }

  /** Answers datagrams that another thread received here. `giveCopy` sends that thread copies of cached answers. */
  takeHandedOver(packed: Uint8Array, giveCopy: GiveCopy): void {
    if (this.#batch === undefined) return
    unpackDatagrams(packed, (bytes, source) => {
      const client: Client = { ...readSource(source), transport: 'udp', listener: this.#listener }
      this.#responder.forwardForOther({ bytes, client, source, replies: this, giveCopy })
    })
  }

  /** Answers later: in a batch, with the other answers of that turn of the event loop, where the source is given for it. */
  #answerLater(message: Buffer, client: Client, source: Buffer | undefined): void {
    const batch = this.#batch
    void this.#responder.respondLater(message, client).then((answer) => {
      if (answer === undefined || this.#batch !== batch) return
      if (source !== undefined && batch?.replyTo(source, answer) === true) this.#planSend(batch)
      else this.#send(answer, client)
    })
  }

  #planSend(batch: DatagramBatch): void {
    if (this.#sweep !== undefined) return void this.#sweep.plan()
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      if (this.#batch === batch) batch.send()
    })
  }

  #send(answer: Buffer, to: Client): void {
    if (this.#socket.getSendQueueSize() > maxQueuedBytes) return
    try {
      this.#socket.send(answer, to.port, to.address)
    } catch {
      // The socket was closed while the answer was in progress.
    }
  }
}

/** The source of one datagram of a batch. Address and port are read from the datagram on demand, because few answers need them. */
class BatchClient implements Client {
  readonly transport = 'udp'
  readonly listener: Listener
  readonly datagram: Datagram

  constructor(datagram: Datagram, listener: Listener) {
    this.datagram = datagram
    this.listener = listener
  }

  get address(): string {
    return this.datagram.address
  }

  get port(): number {
    return this.datagram.port
  }
}

/** Copies the client, for when its datagram is overwritten. */
export function keepClient({ address, port, transport, listener }: Client): Client {
  return { address, port, transport, listener }
}
