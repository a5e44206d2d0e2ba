import type { IncomingMessage } from 'node:http'

const nothing = () => {}

/**
 * Keeps a request whole that begins while the answer before it still waits to be sent. Node pauses the socket and the HTTP parser then, but a TLS
 * socket that the parser reads by itself goes on to deliver what is already decrypted; the parser takes that for an error and the connection is
 * reset. A listener of data takes the socket back from the parser, and such a socket keeps what comes while it is paused. It costs an event for
 * each piece of this connection, which few connections pay.
 */
export function keepWhilePaused({ socket }: IncomingMessage): void {
  if (socket.isPaused() && !socket.listeners('data').includes(nothing)) socket.on('data', nothing)
}
