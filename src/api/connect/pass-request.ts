import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { StatusError } from '../status.ts'
import { askBackend, type Backend, BackendError, responseOf } from './backend.ts'
import type { Exchange } from './exchange.ts'
import { answerHeaders, requestHeaders, upgradeHeaders } from './headers.ts'
import { createLinkRewriter, type LinkRewriter } from './links.ts'
import { passUpgrade } from './pass-upgrade.ts'
import { isPage, readStart, rewritePage } from './rewrite-page.ts'

/** The path below `/proxy` as the client sent it; `""` where the client sent nothing, not even a slash. */
export interface ProxiedPath {
  readonly path: string
  /** The path of the request up to `/proxy`. */
  readonly prefix: string
}

/**
 * Passes a request of any method on, with its body and query, and the answer back. Links of pages and redirects to the
 * backend lead through this server. A request for another protocol becomes a tunnel. Throws a 503 for a backend that
 * cannot be reached.
 */
export async function passRequest(exchange: Exchange, backend: Backend, { path, prefix }: ProxiedPath): Promise<void> {
  const { request, response, upgraded, url } = exchange
  const pathAndQuery = `${path === '' ? '/' : path}${url.search}`
  const method = request.method ?? 'GET'
  if (upgraded !== undefined) {
    const headers = upgradeHeaders(request)
    return passUpgrade(exchange, { backend, method, pathAndQuery, headers })
  }
  if (path === '' && (method === 'GET' || method === 'HEAD')) {
    response.writeHead(301, { location: `${url.pathname}/${url.search}` }).end()
    return
  }
  const target = hostOf(backend)
  const headers = [...requestHeaders(request, target), 'X-Forwarded-Uri', `${prefix}${path}`]
  const answer = await askWithBody(exchange, backend, { method, pathAndQuery, headers })
  const links = createLinkRewriter({ prefix, backend: target, asked: request.headers.host ?? '' })
  await passAnswer(exchange, answer, links)
}

async function askWithBody(
  { request, signal }: Exchange,
  backend: Backend,
  question: { readonly method: string; readonly pathAndQuery: string; readonly headers: readonly string[] },
): Promise<IncomingMessage> {
  const { request: asked, answered } = askBackend(backend, { ...question, signal })
  request.pipe(asked)
  // The rest of a body that the backend does not take is received and dropped, so that the client reads the answer.
  const dropRest = () => void request.unpipe(asked).resume()
  asked.once('close', dropRest)
  try {
    return responseOf(await answered)
  } catch (thrown) {
    dropRest()
    if (!(thrown instanceof BackendError)) throw thrown
    throw new StatusError('ServiceUnavailable', `error trying to reach service: ${thrown.message}`, { cause: thrown })
  }
}

async function passAnswer(
  { request, response, signal }: Exchange,
  answer: IncomingMessage,
  links: LinkRewriter,
): Promise<void> {
  const { location } = answer.headers
  const isRewritten = location === undefined && request.method !== 'HEAD' && isPage(answer)
  const start = isRewritten ? await readStart(answer) : undefined
  if (start?.isWhole === true) {
    const page = await rewritePage(start.bytes, answer.headers['content-encoding'], links)
    if (page !== undefined) return sendPage(response, answer, page)
  }
  const moved = location === undefined ? [] : ['Location', links(location)]
  const headers = [...answerHeaders(answer, (name) => name === 'location'), ...moved]
  // The reason phrase is left out: one with control characters, which Node reads, makes its `writeHead` throw.
  response.writeHead(answer.statusCode ?? 502, headers)
  if (start !== undefined) response.write(start.bytes)
  // A client that goes away ends the backend's answer, and a backend that breaks off ends the client's.
  await pipeline(answer, response, { signal }).catch(() => response.destroy())
}

function sendPage(response: ServerResponse, answer: IncomingMessage, page: Buffer): void {
  const isDropped = (name: string) => name === 'content-length' || name === 'content-encoding'
  const headers = [...answerHeaders(answer, isDropped), 'Content-Length', String(page.length)]
  response.writeHead(answer.statusCode ?? 502, headers)
  response.end(page)
}

function hostOf({ host, port }: Backend): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
