import type { Socket } from 'node:net'
import type { IngressLimits } from '../driver.ts'

/** Bounds what one client address has and asks at once, and the connections of all. */
export class ClientLimits {
  readonly #limits: Pick<IngressLimits, 'maxConnections' | 'connectionsPerClient' | 'requestsPerClient'>
  readonly #connections = new Map<string, number>()
  /** Requests in the second `#second`, by client. */
  readonly #requests = new Map<string, number>()
  #second = 0
  #open = 0

  constructor(limits: IngressLimits) {
    this.#limits = limits
  }

  get open(): number {
    return this.#open
  }

  /** Whether the connection is within the limits. One that is counts until it closes; the caller destroys one that is not. */
  admit(socket: Socket): boolean {
    const client = clientOf(socket)
    const { maxConnections, connectionsPerClient } = this.#limits
    const count = this.#connections.get(client) ?? 0
    if (this.#open >= maxConnections || (connectionsPerClient > 0 && count >= connectionsPerClient)) return false
    this.#open += 1
    this.#connections.set(client, count + 1)
    socket.once('close', () => this.#release(client))
    return true
  }

  /** Whether the client may ask once more in this second. */
  mayAsk(client: string, nowMs: number): boolean {
    const { requestsPerClient } = this.#limits
    if (requestsPerClient === 0) return true
    const second = Math.floor(nowMs / 1000)
    if (second !== this.#second) this.#requests.clear()
    this.#second = second
    const count = (this.#requests.get(client) ?? 0) + 1
    this.#requests.set(client, count)
    return count <= requestsPerClient
  }

  #release(client: string): void {
    this.#open -= 1
    const count = (this.#connections.get(client) ?? 1) - 1
    if (count === 0) this.#connections.delete(client)
    else this.#connections.set(client, count)
  }
}

/** The address of the other end; an IPv4 address also where the socket is one of IPv6. */
export function clientOf({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string {
  return remoteAddress.startsWith('::ffff:') ? remoteAddress.slice(7) : remoteAddress
}
