import { createWebSocketStream, type WebSocket } from 'ws'
import { internalError } from '../status.ts'
import { type Exchange, offeredProtocols } from './exchange.ts'
import { keepHeaders } from './headers.ts'
import { joinConnections } from './join-connections.ts'
import { askForUpgrade, passRefusal, type UpgradeQuestion } from './pass-upgrade.ts'
import { acceptWebSocket } from './websocket.ts'

const tunnelPrefix = 'SPDY/3.1+'
const pingMs = 30_000
/** The time in which the kubelet takes what a client sent before it went. */
const lastBytesMs = 10_000

/** Returns the SPDY protocols that a client offers to send through a WebSocket, as kubectl does for port-forward. */
export function tunnelledProtocols({ request, upgraded }: Pick<Exchange, 'request' | 'upgraded'>): readonly string[] {
  if (upgraded === undefined || request.headers.upgrade?.toLowerCase() !== 'websocket') return []
  const offered = offeredProtocols(request).filter((name) => name.startsWith(tunnelPrefix) && name.endsWith('.k8s.io'))
  return offered.map((name) => name.slice(tunnelPrefix.length))
}

/**
 * Serves SPDY/3.1 inside the binary messages of a WebSocket: the kubelet gets the bytes as a SPDY connection. The
 * WebSocket opens after the kubelet has agreed.
 */
export async function passTunnel(exchange: Exchange, question: UpgradeQuestion): Promise<void> {
  const isWebSocket = (name: string) => name.startsWith('sec-websocket-') || name === 'upgrade' || name === 'connection'
  const kept = keepHeaders(question.headers, (name) => isWebSocket(name) || name === 'x-stream-protocol-version')
  const offered = tunnelledProtocols(exchange).flatMap((name) => ['X-Stream-Protocol-Version', name])
  const headers = [...kept, 'Connection', 'Upgrade', 'Upgrade', 'SPDY/3.1', ...offered]
  const answer = await askForUpgrade({ ...question, method: 'POST', headers }, exchange.signal)
  if (answer.kind === 'response') return passRefusal(exchange, answer.response)
  const { upgrade, 'x-stream-protocol-version': agreed } = answer.response.headers
  if (upgrade?.toLowerCase() !== 'spdy/3.1' || typeof agreed !== 'string') {
    answer.socket.destroy()
    throw internalError('unable to upgrade: missing upgrade headers in response')
  }
  try {
    const { webSocket } = await acceptWebSocket(exchange, [tunnelPrefix + agreed.trim()])
    const stream = createWebSocketStream(webSocket)
    stream.write(answer.head)
    await joinConnections(stream, answer.socket, AbortSignal.any([exchange.stopping, clientGone(webSocket)]))
  } finally {
    answer.socket.destroy()
  }
}

/**
 * Returns a signal that aborts when the client has gone and the kubelet has had its time. While the kubelet does not read, the
 * connection of the client is not read either: only the write of a ping finds its end, and the stream does not pass it on.
 */
function clientGone(webSocket: WebSocket): AbortSignal {
  const gone = new AbortController()
  const pings = setInterval(() => webSocket.ping(), pingMs)
  webSocket.once('close', () => {
    clearInterval(pings)
    setTimeout(() => gone.abort(), lastBytesMs).unref()
  })
  return gone.signal
}
