import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Tracks the connections of one server, so that it can stop without an incomplete answer: answers in flight end with
 * `Connection: close`, and idle connections close at once.
 */
export class OpenConnections {
  readonly #sockets = new Set<Socket>()
  #requestsInFlight = 0
  #isDraining = false

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      this.#requestsInFlight += 1
      if (this.#isDraining) response.setHeader('connection', 'close')
      response.once('close', () => {
        this.#requestsInFlight -= 1
        this.#endWhenDrained()
      })
    })
  }

  /** Ends connections that carry no request now, the others after their answers. */
  drain(server: Server): void {
    this.#isDraining = true
    server.closeIdleConnections()
    this.#endWhenDrained()
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  #endWhenDrained(): void {
    if (!this.#isDraining || this.#requestsInFlight > 0) return
    for (const socket of this.#sockets) socket.destroySoon()
  }
}
