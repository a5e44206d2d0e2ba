import type { Duplex } from 'node:stream'
import type { EdgeExchange } from './edge-exchange.ts'
import { answerHeaders } from './headers.ts'

/** A WebSocket without a byte for so long is taken for dead: clients and servers send pings. */
const tunnelIdleMs = 3_600_000

/** Answers a WebSocket handshake as the backend did (RFC 6455 section 4.2.2) and joins the two connections; `onEnd` is called once. */
export function openTunnel(
  { socket, head }: NonNullable<EdgeExchange['tunnel']>,
  backend: Duplex,
  headers: Parameters<typeof answerHeaders>[0],
  onEnd: () => void,
): void {
  const lines = answerHeaders(headers).flatMap(([name, values]) => [values].flat().map((value) => `${name}: ${value}`))
  const answer = ['HTTP/1.1 101 Switching Protocols', 'connection: Upgrade', 'upgrade: websocket', ...lines, '', '']
  socket.write(answer.join('\r\n'), 'latin1')
  if (head.length > 0) backend.write(head)
  join(socket, backend, onEnd)
}

function join(one: Duplex, other: Duplex, onEnd: () => void): void {
  const end = () => {
    one.destroy()
    other.destroy()
    onEnd()
  }
  for (const each of [one, other]) {
    each.once('error', end)
    each.once('close', end)
    setIdleTimeout(each, end)
  }
  one.pipe(other)
  other.pipe(one)
}

function setIdleTimeout(stream: Duplex, end: () => void): void {
  if ('setTimeout' in stream && typeof stream.setTimeout === 'function') stream.setTimeout(tunnelIdleMs, end)
}
