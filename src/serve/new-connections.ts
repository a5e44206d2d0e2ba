import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Connections without a known identity yet: in all, and from one address. One address has half, as the clients behind a load balancer share
 * one and come back together.
 */
const maxInAll = 4096
const maxOfAddress = maxInAll / 2

/**
 * Bounds the connections without an identity (in their TLS handshake, sending headers, anonymous). One too many closes the oldest of its kind, so that a
 * client that shows who it is at once gets through however many hold theirs open.
 */
export class NewConnections {
  /** By `address port`, the oldest first. */
  readonly #all = new Map<string, Socket>()
  readonly #ofAddress = new Map<string, Map<string, Socket>>()

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket))
  }

  get size(): number {
    return this.#all.size
  }

  /** The identity behind the connection is known: it counts no longer. Also for the TLS socket over it. */
  settle({ remoteAddress = '', remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): void {
    this.#forget(remoteAddress, keyOf(remoteAddress, remotePort))
  }

  #add(socket: Socket): void {
    const { remoteAddress = '', remotePort } = socket
    const key = keyOf(remoteAddress, remotePort)
    const siblings = this.#ofAddress.get(remoteAddress) ?? new Map<string, Socket>()
    this.#ofAddress.set(remoteAddress, siblings.set(key, socket))
    this.#all.set(key, socket)
    socket.once('close', () => {
      if (this.#all.get(key) === socket) this.#forget(remoteAddress, key)
    })
    if (siblings.size > maxOfAddress) closeOldest(siblings)
    if (this.#all.size > maxInAll) closeOldest(this.#all)
  }

  #forget(address: string, key: string): void {
    if (!this.#all.delete(key)) return
    const siblings = this.#ofAddress.get(address)
    siblings?.delete(key)
    if (siblings?.size === 0) this.#ofAddress.delete(address)
  }
}

function keyOf(address: string, port: number | undefined): string {
  return `${address} ${port}`
}

function closeOldest(sockets: ReadonlyMap<string, Socket>): void {
  for (const socket of sockets.values()) {
    if (socket.destroyed) continue
    socket.destroy()
    return
  }
}
