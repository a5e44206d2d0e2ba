import { randomBytes, randomUUID } from 'node:crypto'

/** Names and values in turn, as in `rawHeaders`. */
export type FlatHeaders = readonly string[]

export interface ClientFacts {
  /** The client's address. */
  readonly client: string
  readonly isTls: boolean
  /** The port on which this node received the request. */
  readonly port: number
  readonly authority: string
}

/** Headers of one connection (RFC 9110 section 7.6.1), and those that the proxy makes itself. */
const ownHeaders = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
  'trailer',
  'host',
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-request-id',
  'traceparent',
])

/** Headers of an answer that concern one connection only. */
const answerHopHeaders = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])

const requestIdForm = /^[\x21-\x7e]{1,128}$/
/** W3C Trace Context, level 1: a version, a trace and a span that are not zero, flags. */
const traceparentForm = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(-|$)/

/** The values of one header; the name in lower case. */
export function valuesOf(headers: FlatHeaders, name: string): string[] {
  return [...pairs(headers)].filter(([each]) => each.toLowerCase() === name).map(([, value]) => value)
}

/** The X-Request-Id of a client, or a new one where it has none that is fit for logs. */
export function requestIdOf(headers: FlatHeaders): string {
  const [sent = '', ...more] = valuesOf(headers, 'x-request-id')
  return more.length === 0 && requestIdForm.test(sent) ? sent : randomUUID()
}

interface OwnHeaders {
  readonly requestId: string
  readonly droppedCookie?: string | undefined
  /** The place of the proxy in the trace; absent: that of the client, or a new trace that is not sampled. */
  readonly traceparent?: string | undefined
}

/** The headers for a backend: those of the client without what concerns its connection, and what it may not say itself. */
export function requestHeaders(
  headers: FlatHeaders,
  { client, isTls, port, authority }: ClientFacts,
  { requestId, droppedCookie, traceparent = traceparentOf(headers) }: OwnHeaders,
): string[] {
  const named = connectionTokens(headers)
  const kept: string[] = ['host', authority]
  for (const [name, value] of pairs(headers)) {
    const lower = name.toLowerCase()
    if (ownHeaders.has(lower) || named.has(lower) || lower.startsWith(':')) continue
    const passed = lower === 'cookie' && droppedCookie !== undefined ? withoutCookie(value, droppedCookie) : value
    if (passed !== '' || value === '') kept.push(name, passed)
  }
  if (acceptsTrailers(headers)) kept.push('te', 'trailers')
  return [
    ...kept,
    ...['x-forwarded-for', client],
    ...['x-forwarded-proto', isTls ? 'https' : 'http'],
    ...['x-forwarded-host', authority],
    ...['x-forwarded-port', String(port)],
    ...['x-request-id', requestId],
    ...['traceparent', traceparent],
  ]
}

/** The headers of a backend's answer for a client; names in lower case. */
export function answerHeaders(
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): (readonly [string, string | readonly string[]])[] {
  const named = tokensOf([headers['connection'] ?? ''].flat().join(','))
  return Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || answerHopHeaders.has(name) || named.has(name) || name.startsWith(':')
      ? []
      : [[name, value] as const],
  )
}

/** The value of a cookie that the client sent. */
export function cookieValue(headers: FlatHeaders, name: string): string | undefined {
  const cookies = valuesOf(headers, 'cookie').flatMap((line) => line.split(';'))
  const found = cookies.map((cookie) => cookie.trim()).find((cookie) => cookie.startsWith(`${name}=`))
  return found?.slice(name.length + 1)
}

function withoutCookie(line: string, name: string): string {
  const cookies = line.split(';').map((cookie) => cookie.trim())
  return cookies.filter((cookie) => !cookie.startsWith(`${name}=`)).join('; ')
}

/** The `traceparent` of a client; undefined where it has none, several or an unsound one. */
export function sentTraceparent(headers: FlatHeaders): string | undefined {
  const [sent = '', ...more] = valuesOf(headers, 'traceparent')
  return more.length === 0 && traceparentForm.test(sent) ? sent : undefined
}

function traceparentOf(headers: FlatHeaders): string {
  const sent = sentTraceparent(headers)
  if (sent !== undefined) return sent
  return `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-00`
}

function acceptsTrailers(headers: FlatHeaders): boolean {
  return tokensOf(valuesOf(headers, 'te').join(',')).has('trailers')
}

function connectionTokens(headers: FlatHeaders): ReadonlySet<string> {
  return tokensOf(valuesOf(headers, 'connection').join(','))
}

function tokensOf(line: string): ReadonlySet<string> {
  return new Set(line.split(',').map((token) => token.trim().toLowerCase()))
}

function* pairs(headers: FlatHeaders): Iterable<readonly [string, string]> {
  for (let index = 0; index + 1 < headers.length; index += 2) yield [headers[index] ?? '', headers[index + 1] ?? '']
}
