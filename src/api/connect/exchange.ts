import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Upgraded } from '../../serve/index.ts'

/** A request for a connection to a pod, a Service or a node, with its answer. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The connection of a request that asks for another protocol. */
  readonly upgraded: Upgraded | undefined
  readonly url: URL
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal
  /** Aborts when the server stops. */
  readonly stopping: AbortSignal
}

/** The silence after which TCP asks whether the other end is still there. */
export const keepAliveMs = 30_000

/** Returns the protocol that the request asks for, in lower case: `websocket`, `spdy/3.1`; undefined for an ordinary request. */
export function askedProtocol({ request, upgraded }: Pick<Exchange, 'request' | 'upgraded'>): string | undefined {
  return upgraded === undefined ? undefined : (request.headers.upgrade ?? '').toLowerCase()
}

/** Returns the WebSocket subprotocols that the client offers. */
export function offeredProtocols({ headers }: IncomingMessage): readonly string[] {
  return (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
