import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type Datagram, DatagramBatch } from '../../../host/datagrams/index.ts'
import { ipFamily } from '../../../model/ip.ts'
import { listenFailure } from '../errors.ts'
import type { Client, Listener } from '../plugins/client.ts'
import { type Responder, responderResult } from './responder.ts'

const scratchBytes = 65_536
/** The most bytes of datagrams that wait for the kernel; more are dropped, as a full network would do. */
const maxQueuedBytes = 8 * 1024 * 1024

/** Answers datagrams on one address and port, which it shares with the other threads. */
export class UdpServer {
  readonly #listener: Listener
  readonly #responder: Responder
  readonly #socket: Socket
  #scratch = Buffer.allocUnsafeSlow(scratchBytes)
  #batch: DatagramBatch | undefined
  #clients: readonly BatchClient[] = []
  #isPlanned = false

  constructor(listener: Listener, responder: Responder) {
    this.#listener = listener
    this.#responder = responder
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
    this.#socket.setRecvBufferSize(4 * 1024 * 1024)
    this.#socket.on('error', () => {})
    this.#socket.on('message', (message, from) => {
      this.#take(message, from)
      this.#takeWaiting()
    })
  }

  async close(): Promise<void> {
    const closed = once(this.#socket, 'close')
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
    else if (length === responderResult.later) this.#answerLater(message, client, this.#batch?.sourceFor(from))
  }

  /**
   * Answers the datagrams that arrived with the first one or while it was answered, at most one batch. Node delivers 32 datagrams in a turn of
   * the event loop, so with their batches connections and configuration changes wait for 2,080 at most.
   */
  #takeWaiting(): void {
    const batch = this.#batch
    const count = batch?.receive() ?? 0
    if (batch === undefined || count === 0) return
    for (let index = 0; index < count; index += 1) this.#takeOne(batch, index)
    batch.send()
  }

  #takeOne(batch: DatagramBatch, index: number): void {
    const client = this.#clients[index]
    if (client === undefined || client.port === 0) return
    const { bytes, length } = client.datagram
    const answered = this.#responder.respondNow(bytes, length, client, batch.answer)
    if (answered > 0) batch.reply(index, answered)
    else if (answered === responderResult.later)
      this.#answerLater(Buffer.from(bytes.subarray(0, length)), client.kept, batch.sourceOf(index))
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

  /** Copies the source, for when the datagram is overwritten. */
  get kept(): Client {
    const { address, port, transport, listener } = this
    return { address, port, transport, listener }
  }
}
