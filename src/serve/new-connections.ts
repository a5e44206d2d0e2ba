import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Limits of connections without a known identity: in all, and from one address. One address may have half, because the clients behind a
 * load balancer share one address and reconnect together.
 */
const maxInAll = 4096
const maxOfAddress = maxInAll / 2

/**
 * Bounds the connections without an identity (in the TLS handshake, sending headers, anonymous). A connection beyond a limit closes the
 * oldest of its kind, so that a client that identifies itself at once succeeds however many others keep theirs open.
 */
export class NewConnections {
  /** Sockets by `address port`, the oldest first. */
  readonly #all = new Map<string, Socket>()
  readonly #ofAddress = new Map<string, Map<string, Socket>>()

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket))
  }

  get size(): number {
    return this.#all.size
  }

  /** Removes an identified connection, given as its TCP socket or the TLS socket over it. */
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
