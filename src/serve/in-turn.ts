import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests that one connection may send ahead of their answers; clients in use send none. */
const maxWaiting = 64

/**
 * Handles the requests of a connection one after the other: one that was sent ahead (pipelined) costs nothing but itself until the answers before it are
 * sent. A connection that sends too many ahead is cut.
 */
export function inTurn(handle: RequestListener): RequestListener {
  const waiting = new WeakMap<Socket, number>()
  return (request: IncomingMessage, response: ServerResponse) => {
    // A response has no socket before its turn.
    if (response.socket !== null) return handle(request, response)
    const { socket } = request
    const count = (waiting.get(socket) ?? 0) + 1
    if (count > maxWaiting) {
      socket.destroy()
      return
    }
    waiting.set(socket, count)
    response.once('socket', () => {
      waiting.set(socket, (waiting.get(socket) ?? 1) - 1)
      if (socket.destroyed) return
      handle(request, response)
    })
  }
}
