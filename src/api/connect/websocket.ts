import type { Socket } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { badRequest } from '../status.ts'
import { type Exchange, offeredProtocols } from './exchange.ts'

/** The largest message of a client; those of kubectl have at most 32 KiB. */
const maxMessageBytes = 4 * 1024 * 1024

const pingMs = 30_000
/** The time in which the kubelet takes what a client sent before it went. */
const lastBytesMs = 10_000

/**
 * Answers the handshake of a WebSocket (RFC 6455) with the first offered subprotocol of the list, or none where the client
 * offers none. Throws a 400 where it offers others alone, or its handshake is not valid.
 */
export async function acceptWebSocket(
  exchange: Exchange,
  known: readonly string[],
): Promise<{ readonly webSocket: WebSocket; readonly protocol: string | undefined }> {
  const { request, response, upgraded, stopping } = exchange
  const offered = offeredProtocols(request)
  const chosen = offered.find((name) => known.includes(name))
  if (offered.length > 0 && chosen === undefined)
    throw badRequest(`requested protocol(s) are not supported: [${offered.join(' ')}]; supports [${known.join(' ')}]`)
  if (upgraded === undefined || request.method !== 'GET' || request.headers['sec-websocket-version'] !== '13')
    throw badRequest('the handshake of the WebSocket is not valid')
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
  })
  // The library refuses names with a slash, which Kubernetes' tunnels have, so it sees none.
  delete request.headers['sec-websocket-protocol']
  if (chosen !== undefined)
    server.on('headers', (headers: string[]) => headers.push(`Sec-WebSocket-Protocol: ${chosen}`))
  response.statusCode = 101
  response.detachSocket(upgraded.socket as Socket)
  const webSocket = await new Promise<WebSocket>((resolve, reject) => {
    upgraded.socket.once('close', () => reject(badRequest('the handshake of the WebSocket is not valid')))
    server.handleUpgrade(request, upgraded.socket, upgraded.head, resolve)
  })
  webSocket.on('error', () => webSocket.terminate())
  const end = () => webSocket.terminate()
  stopping.addEventListener('abort', end, { once: true })
  webSocket.once('close', () => stopping.removeEventListener('abort', end))
  return { webSocket, protocol: chosen }
}

/** Sends one message; resolves when the connection has taken it. Rejects when the connection is gone. */
export function sendMessage(webSocket: WebSocket, data: Buffer | string): Promise<void> {
  return new Promise((resolve, reject) => {
    webSocket.send(data, (error) => (error === undefined || error === null ? resolve() : reject(error)))
  })
}

/**
 * Returns a signal that aborts when the client has gone and the kubelet has had its time. While the kubelet does not read, the
 * connection of the client is not read either: only the write of a ping finds its end, and the stream does not pass it on.
 */
export function clientGone(webSocket: WebSocket): AbortSignal {
  const gone = new AbortController()
  const pings = setInterval(() => webSocket.ping(), pingMs)
  webSocket.once('close', () => {
    clearInterval(pings)
    setTimeout(() => gone.abort(), lastBytesMs).unref()
  })
  return gone.signal
}
