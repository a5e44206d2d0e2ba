import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Number of requests that one connection may send before it has their answers; common clients send none. */
const maxWaiting = 64

/**
 * Handles the requests of a connection one after the other: a pipelined request waits, without its handler, until the answers before it
 * are sent. A connection with too many pipelined requests is closed.
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
