import { createWebSocketStream } from 'ws'
import { type Exchange, offeredProtocols } from './exchange.ts'
import { joinConnections } from './join-connections.ts'
import { askForSpdy, passRefusal, type UpgradeQuestion } from './pass-upgrade.ts'
import { acceptWebSocket, clientGone } from './websocket.ts'

const tunnelPrefix = 'SPDY/3.1+'

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
  const answer = await askForSpdy(exchange, question, tunnelledProtocols(exchange))
  if (answer.kind === 'response') return passRefusal(exchange, answer.response)
  try {
    const { webSocket } = await acceptWebSocket(exchange, [tunnelPrefix + answer.agreed])
    const stream = createWebSocketStream(webSocket)
    stream.write(answer.head)
    await joinConnections(stream, answer.socket, AbortSignal.any([exchange.stopping, clientGone(webSocket)]))
  } finally {
    answer.socket.destroy()
  }
}
