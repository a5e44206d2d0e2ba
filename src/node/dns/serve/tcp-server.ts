import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { listenFailure } from '../errors.ts'
import type { Listener } from '../plugins/client.ts'
import type { Responder } from './responder.ts'
import { TcpConnection } from './tcp-connection.ts'

/** Accepts connections on one address and port, which it shares with the other threads. */
export class TcpServer {
  readonly #listener: Listener
  readonly #responder: Responder
  readonly #maxConnections: number
  readonly #server: Server
  readonly #connections = new Set<TcpConnection>()
  readonly #scratch = Buffer.allocUnsafeSlow(65_535)

  constructor(listener: Listener, responder: Responder, maxConnections: number) {
    this.#listener = listener
    this.#responder = responder
    this.#maxConnections = maxConnections
    this.#server = createServer({ allowHalfOpen: true }, (socket) => this.#take(socket))
  }

  /** Throws DnsError `listen-failed`. */
  async listen(): Promise<void> {
    const { address, port } = this.#listener.current
    this.#server.listen({
      host: address,
      port,
      reusePort: true,
      exclusive: true,
      ...(address.includes(':') && { ipv6Only: true }),
    })
    try {
      await once(this.#server, 'listening')
    } catch (cause) {
      throw listenFailure(address, port, 'TCP', cause)
    }
    this.#server.on('error', () => {})
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const connection of this.#connections) connection.close()
    await closed
  }

  /** Accepts a connection. One above the limit replaces the connection that was idle for longest. */
  #take(socket: Socket): void {
    const { remoteAddress, remotePort } = socket
    if (remoteAddress === undefined || remotePort === undefined) return void socket.destroy()
    if (this.#connections.size >= this.#maxConnections) this.#closeIdlest()
    const client = { address: remoteAddress, port: remotePort, transport: 'tcp', listener: this.#listener } as const
    const connection = new TcpConnection(socket, this.#responder, client, this.#scratch)
    this.#connections.add(connection)
    socket.once('close', () => this.#connections.delete(connection))
  }

  #closeIdlest(): void {
    let idlest: TcpConnection | undefined
    for (const connection of this.#connections)
      if (idlest === undefined || connection.lastUseMs < idlest.lastUseMs) idlest = connection
    if (idlest === undefined) return
    this.#connections.delete(idlest)
    idlest.close()
  }
}
