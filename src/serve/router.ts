import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

const compress = promisify(gzip)

/** A shorter body is not worth the work. */
const minCompressedBytes = 4_096

/** A request with its parsed URL; `below` is the path after a route that ends in `/*`. */
export interface RoutedRequest {
  readonly message: IncomingMessage
  readonly query: URLSearchParams
  readonly below?: string
}

export interface TextAnswer {
  readonly status: number
  readonly body: string
  /** `text/plain; charset=utf-8` when absent. */
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
}

export type GetHandler = (request: RoutedRequest) => TextAnswer | Promise<TextAnswer>

/**
 * Routes GET and HEAD by exact path; a route that ends in `/*` takes the paths below it (`/*` alone every path), and one of `posts` takes
 * POST. Other requests get 404 or 405 in text. A handler that throws gets 500 and a call of `onError`.
 */
export function createRouter(
  routes: Readonly<Record<string, GetHandler>>,
  onError: (error: unknown, path: string) => void,
  posts: Readonly<Record<string, GetHandler>> = {},
): RequestListener {
  const table = new Map(Object.entries(routes))
  for (const [path, handler] of Object.entries(posts)) table.set(`POST ${path}`, handler)
  return (message, response) => {
    void answer(table, message, onError)
      .then(async (result) => sendAnswer(message, response, await pack(message, result)))
      .catch((error: unknown) => {
        onError(error, message.url ?? '')
        response.destroy()
      })
  }
}

async function answer(
  table: ReadonlyMap<string, GetHandler>,
  message: IncomingMessage,
  onError: (error: unknown, path: string) => void,
): Promise<TextAnswer> {
  const url = URL.parse(message.url ?? '/', 'http://localhost')
  if (url === null) return { status: 400, body: 'the request target is not a URL\n' }
  const post = message.method === 'POST' ? table.get(`POST ${url.pathname}`) : undefined
  const found = post ? { handler: post } : findRoute(table, url.pathname)
  if (found === undefined) return { status: 404, body: `no such path; there are: ${[...table.keys()].join(' ')}\n` }
  if (!post && message.method !== 'GET' && message.method !== 'HEAD') {
    return { status: 405, body: 'only GET and HEAD are possible here\n', headers: { allow: 'GET, HEAD' } }
  }
  try {
    const below = found.below === undefined ? {} : { below: found.below }
    return await found.handler({ message, query: url.searchParams, ...below })
  } catch (error) {
    onError(error, url.pathname)
    return { status: 500, body: 'internal error; the log of this process has the reason\n' }
  }
}

function findRoute(
  table: ReadonlyMap<string, GetHandler>,
  path: string,
): { handler: GetHandler; below?: string } | undefined {
  const exact = table.get(path)
  if (exact !== undefined) return { handler: exact }
  const slash = path.lastIndexOf('/')
  const handler = table.get(`${path.slice(0, slash)}/*`)
  if (handler !== undefined) return { handler, below: path.slice(slash + 1) }
  const anyPath = table.get('/*')
  return anyPath && { handler: anyPath, below: path.slice(1) }
}

/** Compresses a long body where the client takes it; that runs off the main thread. */
async function pack({ headers: asked }: IncomingMessage, answer: TextAnswer): Promise<Sent> {
  const { body, headers } = answer
  if (Buffer.byteLength(body) < minCompressedBytes || !acceptsGzip(asked['accept-encoding'])) return answer
  const packed = await compress(body, { level: 1 })
  return { ...answer, body: packed, headers: { 'content-encoding': 'gzip', vary: 'accept-encoding', ...headers } }
}

type Sent = Omit<TextAnswer, 'body'> & { readonly body: string | Buffer }

/** Sends an answer; one to HEAD has no body. */
export function sendAnswer(
  message: IncomingMessage,
  response: ServerResponse,
  { status, body, contentType, headers }: Sent,
): void {
  response.writeHead(status, {
    'content-type': contentType ?? 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    ...headers,
  })
  response.end(message.method === 'HEAD' ? undefined : body)
}

/** Checks whether an Accept-Encoding header (RFC 9110, 12.5.3) names gzip with a weight above zero. */
function acceptsGzip(header: string | string[] | undefined): boolean {
  return [header ?? ''].flat().some((value) => /(^|[\s,])gzip\s*(?!\s*;\s*q=0(\.0*)?\s*(,|$))(,|;|$)/i.test(value))
}
