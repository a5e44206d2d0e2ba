import type { IncomingMessage } from 'node:http'

/** Headers of one connection alone (RFC 9110 section 7.6.1). */
const hopByHop = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
])

/** Checks for a header that proves an identity to this server: no backend gets it. */
const isCredential = (name: string) =>
  name === 'authorization' || name.startsWith('impersonate-') || name.startsWith('x-remote-')

/** Headers by which a backend would open this server's own origin to pages of others. */
const crossOrigin = new Set([
  ...['access-control-allow-credentials', 'access-control-allow-headers', 'access-control-allow-methods'],
  'access-control-allow-origin',
])

/** Returns the headers without those whose lower-case name is dropped: names and values in turn. */
export function keepHeaders(raw: readonly string[], isDropped: (name: string) => boolean): string[] {
  const kept: string[] = []
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = raw.slice(at, at + 2)
    if (!isDropped(name.toLowerCase())) kept.push(name, value)
  }
  return kept
}

/** Returns the headers of a request for an upgrade, which keep the upgrade itself. */
export function upgradeHeaders(request: IncomingMessage, isDropped: (name: string) => boolean = () => false): string[] {
  const kept = keepHeaders(request.rawHeaders, (name) => isCredential(name) || isForwardedFor(name) || isDropped(name))
  return [...kept, ...forwardedFor(request)]
}

/** Returns the headers of a request that is passed on; a chunked body stays one. `target` is the Host where the client named none. */
export function requestHeaders(request: IncomingMessage, target: string): string[] {
  const named = connectionNames(request)
  const isDropped = (name: string) =>
    hopByHop.has(name) || named.has(name) || isCredential(name) || isForwardedFor(name) || name === 'expect'
  const kept = keepHeaders(request.rawHeaders, isDropped)
  const isChunked = request.headers['transfer-encoding'] !== undefined
  return [
    ...kept,
    ...(request.headers.host === undefined ? ['Host', target] : []),
    ...(isChunked ? ['Transfer-Encoding', 'chunked'] : []),
    ...forwardedFor(request),
  ]
}

/** Returns the headers of a backend's answer that reach the client. */
export function answerHeaders(response: IncomingMessage, isDropped: (name: string) => boolean): string[] {
  const named = connectionNames(response)
  return keepHeaders(
    response.rawHeaders,
    (name) => hopByHop.has(name) || named.has(name) || crossOrigin.has(name) || isDropped(name),
  )
}

function connectionNames({ headers }: IncomingMessage): ReadonlySet<string> {
  return new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()))
}

const isForwardedFor = (name: string) => name === 'x-forwarded-for'

function forwardedFor({ headers, socket }: IncomingMessage): string[] {
  const earlier = [headers['x-forwarded-for'] ?? []].flat()
  const chain = [...earlier, socket.remoteAddress ?? ''].filter((each) => each !== '').join(', ')
  return chain === '' ? [] : ['X-Forwarded-For', chain]
}
