import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Duplex } from 'node:stream'
import { answerHeaders } from './headers.ts'

/** One request of a client with the answer that is to be written. */
export interface EdgeExchange {
  readonly request: IncomingMessage | Http2ServerRequest
  readonly response: ServerResponse | Http2ServerResponse
  readonly isTls: boolean
  /** The client waits for `100 Continue` before it sends the body (RFC 9110 section 10.1.1). */
  readonly expectsContinue: boolean
  /** The connection of a WebSocket handshake with what the client sent behind it. */
  readonly tunnel?: { readonly socket: Duplex; readonly head: Buffer }
}

type Answer = EdgeExchange['response']

/** Writes an answer of the proxy itself. The connection ends where the body of the request is not read. */
export function writeOwnAnswer({ request, response }: EdgeExchange, status: number, text: string): void {
  response.statusCode = status
  response.setHeader('content-type', 'text/plain; charset=utf-8')
  if (request.httpVersionMajor === 1 && !request.complete) response.setHeader('connection', 'close')
  response.end(request.method === 'HEAD' ? '' : `${status} ${STATUS_CODES[status] ?? ''}: ${text}\n`)
}

/** Writes status and headers of a backend's answer. */
export function writeAnswerHead(
  response: Answer,
  status: number,
  headers: Parameters<typeof answerHeaders>[0],
  cookie: string | undefined,
): void {
  response.statusCode = status
  for (const [name, value] of answerHeaders(headers)) response.setHeader(name, value)
  if (cookie === undefined) return
  const set = [response.getHeader('set-cookie') ?? []].flat().map(String)
  response.setHeader('set-cookie', [...set, cookie])
}

/** Writes a part of the body; false: the client is to be waited for. HTTP/1 and HTTP/2 declare `write` differently. */
export function writePart(response: Answer, chunk: Buffer): boolean {
  return 'stream' in response ? response.write(chunk) : response.write(chunk)
}

/** Ends the answer; trailers reach clients over HTTP/2 and, where the answer is chunked, over HTTP/1.1. */
export function endAnswer(response: Answer, trailers: Readonly<Record<string, string | string[] | undefined>>): void {
  const named = answerHeaders(trailers).map(([name, value]) => [name, [value].flat().join(', ')])
  if (named.length > 0) response.addTrailers(Object.fromEntries(named))
  response.end()
}

/** Breaks an answer off, so that the client cannot take it for a whole one. */
export function breakOff(response: Answer): void {
  if ('stream' in response) response.stream.close(http2InternalError)
  else response.destroy()
}

/** INTERNAL_ERROR of RFC 9113 section 7. */
const http2InternalError = 2
