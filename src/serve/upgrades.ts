import { type IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** The connection of a request that asks for another protocol (RFC 9110 section 7.8), and what the client sent behind it. */
export interface Upgraded {
  readonly socket: Duplex
  readonly head: Buffer
}

export interface UpgradeHandling {
  /** Whether the request may be answered with another protocol; otherwise it is an ordinary request. */
  readonly takes: (request: IncomingMessage) => boolean
  /** Answers by the response, after which the connection ends, or detaches it from the socket and goes on with that. */
  readonly handle: (request: IncomingMessage, response: ServerResponse, upgraded: Upgraded) => void
}

/** The time in which a client of a refused request takes the answer and closes. */
const lingerMs = 1_000

/** Hands requests for another protocol to their handler, each with a response like that of an ordinary request. */
export function takeUpgrades(server: Server, { takes, handle }: UpgradeHandling): void {
  Object.assign(server, { shouldUpgradeCallback: takes })
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    socket.on('error', () => {})
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    try {
      response.assignSocket(socket)
    } catch {
      // An earlier request of this connection has not been answered yet.
      socket.destroy()
      return
    }
    // Node's own listener is gone with the upgrade; without one a long answer stops at the first full buffer.
    socket.on('drain', () => response.emit('drain'))
    response.once('finish', () => endUnread(socket))
    handle(request, response, { socket, head })
  })
}

/**
 * Ends a connection whose client may have sent more. What is not read keeps the connection open, and a close over it is a
 * reset, by which the client loses the answer.
 */
function endUnread(socket: Duplex): void {
  socket.resume()
  socket.end(() => {
    const timer = setTimeout(() => socket.destroy(), lingerMs)
    socket.once('close', () => clearTimeout(timer))
  })
}
