import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { ipFamily } from '../../../model/ip.ts'
import { DnsError } from '../errors.ts'
import type { Asker, Responder } from './responder.ts'
import type { OpenPlace } from './settings.ts'

const scratchBytes = 65_536
/** Datagrams that the kernel does not take are waited with up to here, then dropped as a full network does. */
const maxQueuedBytes = 8 * 1024 * 1024

/** Answers datagrams on one address and port, which it shares with the other threads. */
export class UdpListener {
  readonly #place: OpenPlace
  readonly #responder: Responder
  readonly #socket: Socket
  #scratch = Buffer.allocUnsafeSlow(scratchBytes)

  constructor(place: OpenPlace, responder: Responder) {
    this.#place = place
    this.#responder = responder
    const type = ipFamily(place.current.address) === 'IPv6' ? 'udp6' : 'udp4'
    // Answers go to addresses, never to names: nothing is looked up.
    const lookup: NonNullable<Parameters<typeof createSocket>[0] & object>['lookup'] = (address, _, done) =>
      done(null, address, type === 'udp6' ? 6 : 4)
    this.#socket = createSocket({ type, reusePort: true, ipv6Only: type === 'udp6', lookup })
  }

  /** Throws DnsError `listen-failed`. */
  async listen(): Promise<void> {
    const { address, port } = this.#place.current
    // With nothing to look up, the socket listens before bind() returns.
    const listening = once(this.#socket, 'listening')
    this.#socket.bind({ address, port, exclusive: true })
    try {
      await listening
    } catch (cause) {
      throw new DnsError('listen-failed', `cannot listen on ${address} port ${port} over UDP`, { cause })
    }
    this.#socket.setRecvBufferSize(4 * 1024 * 1024)
    this.#socket.on('error', () => {})
    this.#socket.on('message', (message, from) => this.#take(message, from))
  }

  async close(): Promise<void> {
    const closed = once(this.#socket, 'close')
    this.#socket.close()
    await closed
  }

  /** A datagram from port 0 cannot be answered, and asking for that ends a process that does not see to it. */
  #take(message: Buffer, from: RemoteInfo): void {
    if (from.port === 0) return
    // What the kernel did not take at once still stands in the scratch buffer; that one is left to it.
    if (this.#socket.getSendQueueCount() > 0) this.#scratch = Buffer.allocUnsafeSlow(scratchBytes)
    const asker: Asker = { address: from.address, port: from.port, transport: 'udp', place: this.#place }
    const length = this.#responder.respondNow(message, asker, this.#scratch)
    if (length > 0) this.#socket.send(this.#scratch, 0, length, from.port, from.address)
    else if (length < 0) void this.#responder.respondLater(message, asker).then((answer) => this.#send(answer, from))
  }

  #send(answer: Buffer | undefined, from: RemoteInfo): void {
    if (answer === undefined || this.#socket.getSendQueueSize() > maxQueuedBytes) return
    try {
      this.#socket.send(answer, from.port, from.address)
    } catch {
      // Closed while the answer was under way.
    }
  }
}
