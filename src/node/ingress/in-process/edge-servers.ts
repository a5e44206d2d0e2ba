import http, { type IncomingMessage, ServerResponse } from 'node:http'
import http2 from 'node:http2'
import type { Server, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContext } from 'node:tls'
import type { IngressLimits } from '../driver.ts'
import type { EdgeExchange } from './edge-exchange.ts'

export interface EdgeParts {
  readonly limits: IngressLimits
  /** Whether a new connection is within the limits. */
  readonly admit: (socket: Socket) => boolean
  readonly contextFor: (serverName: string) => SecureContext | undefined
  readonly handle: (exchange: EdgeExchange) => void
}

/** Streams of one HTTP/2 connection at once. */
const maxStreams = 128
const handshakeTimeoutMs = 10_000

/** A server for plain HTTP/1; it does not listen yet. */
export function createPlainServer(parts: EdgeParts): Server {
  const server = http.createServer(http1Options(parts.limits))
  serve(server, parts, false)
  return server
}

/** A server for HTTP/2 and HTTP/1.1 over TLS 1.2 or newer; it does not listen yet. */
export function createTlsServer(parts: EdgeParts): Server {
  const { limits, contextFor } = parts
  const server = http2.createSecureServer({
    allowHTTP1: true,
    http1Options: http1Options(limits),
    handshakeTimeout: handshakeTimeoutMs,
    minVersion: 'TLSv1.2',
    settings: { maxConcurrentStreams: maxStreams, maxHeaderListSize: limits.maxHeaderBytes, enablePush: false },
    SNICallback: (name, done) => choose(contextFor, name, done),
  })
  server.on('session', (session) => endWhenIdle(session, limits.idleTimeoutMs))
  serve(server, parts, true)
  return server
}

function http1Options({ maxHeaderBytes, headerTimeoutMs, idleTimeoutMs }: IngressLimits): http.ServerOptions {
  return {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headerTimeoutMs,
    // The body has a limit of its own, by the time between its parts.
    requestTimeout: 0,
    keepAliveTimeout: idleTimeoutMs,
    connectionsCheckingInterval: 1_000,
    httpValidation: 'strict',
  }
}

function choose(
  contextFor: EdgeParts['contextFor'],
  name: string,
  done: (error: Error | null, context?: SecureContext) => void,
): void {
  try {
    done(null, contextFor(name))
  } catch (error) {
    done(error instanceof Error ? error : new Error(String(error)))
  }
}

function serve(server: http.Server | http2.Http2SecureServer, parts: EdgeParts, isTls: boolean): void {
  const { admit, handle } = parts
  server.on('connection', (socket: Socket) => {
    if (!admit(socket)) socket.destroy()
  })
  const on = (event: 'request' | 'checkContinue', expectsContinue: boolean) =>
    server.on(event, (request: EdgeExchange['request'], response: EdgeExchange['response']) =>
      handle({ request, response, isTls, expectsContinue }),
    )
  on('request', false)
  on('checkContinue', true)
  Object.assign(server, { shouldUpgradeCallback: isWebSocket })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
    handle(upgradeExchange(request, socket, head, isTls)),
  )
  server.on('clientError', answerClientError)
}

/** Other upgrades are not offered, so their requests are ordinary ones (RFC 9110 section 7.8). */
function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket'
}

function upgradeExchange(request: IncomingMessage, socket: Duplex, head: Buffer, isTls: boolean): EdgeExchange {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket as Socket)
  response.once('finish', () => socket.end())
  return { request, response, isTls, expectsContinue: false, tunnel: { socket, head } }
}

/** Answers a request that cannot be parsed and closes the connection. */
function answerClientError(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = statusOfClientError[error.code ?? ''] ?? '400 Bad Request'
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
}

const statusOfClientError: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** Ends a connection on which no request was under way for so long. */
function endWhenIdle(session: http2.ServerHttp2Session, idleMs: number): void {
  let streams = 0
  session.on('stream', (stream) => {
    streams += 1
    stream.once('close', () => {
      streams -= 1
    })
  })
  session.on('error', () => {})
  session.setTimeout(idleMs, () => {
    if (streams === 0) session.close()
  })
}
