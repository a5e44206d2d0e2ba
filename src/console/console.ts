import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { type HubTiming, LiveHub } from './live-hub.ts'
import { chooseEncoding, type Page, type Pages, readPages } from './pages.ts'
import { securityHeaders } from './security-headers.ts'
import type { ConsoleAnswer, ConsoleSource } from './source.ts'
import { Viewer } from './viewer.ts'

/** All paths of the console begin with it. */
const consolePath = '/console/'

const maxViewers = 16
/** Answers shorter than this are sent as they are. */
const worthCompressing = 1_400

/** Serves the pages, their stream and the answers to their questions. Who may read is decided before it. */
export class Console {
  readonly #source: ConsoleSource
  readonly #pages: Pages
  readonly #hub: LiveHub

  constructor(source: ConsoleSource, pages: Pages, timing: Partial<HubTiming> = {}) {
    this.#source = source
    this.#pages = pages
    this.#hub = new LiveHub(source, timing)
  }

  async handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(message.url ?? '/', 'http://localhost')
    const path = url?.pathname ?? '/'
    if (message.method !== 'GET' && message.method !== 'HEAD') return refuse(response, 405, 'only GET is possible here')
    if (path === '/' || path === '/console') return redirect(response)
    if (path === consolePath) return this.#sendIndex(message, response)
    if (path === '/console/api/stream') return this.#stream(message, response)
    if (path.startsWith('/console/api/')) return this.#answer(message, response, url)
    const file = this.#pages.files.get(path.slice(`${consolePath}${this.#pages.hash}/`.length))
    if (file !== undefined && path.startsWith(`${consolePath}${this.#pages.hash}/`))
      return sendPage(message, response, file, 'public, max-age=31536000, immutable')
    refuse(response, 404, 'no such page')
  }

  async close(): Promise<void> {
    await this.#hub.close()
  }

  #sendIndex(message: IncomingMessage, response: ServerResponse): void {
    const tag = `"${this.#pages.hash}"`
    if (message.headers['if-none-match'] === tag) {
      response.writeHead(304, { ...securityHeaders, etag: tag }).end()
      return
    }
    response.setHeader('etag', tag)
    sendPage(message, response, this.#pages.index, 'no-cache')
  }

  async #stream(message: IncomingMessage, response: ServerResponse): Promise<void> {
    if (message.method === 'HEAD') return refuse(response, 405, 'a stream has no HEAD')
    if (this.#hub.viewers >= maxViewers) return refuse(response, 503, `${maxViewers} pages are open already`)
    const viewer = new Viewer(message, response)
    const { scope, title, version, links, charts } = this.#source
    viewer.send('hello', {
      ...{ scope, title, version, links, hash: this.#pages.hash },
      charts: charts.map(({ series, ...chart }) => ({
        ...chart,
        series: series.map(({ label, tone }) => ({ label, tone })),
      })),
      questions: Object.keys(this.#source.questions),
    })
    await this.#hub.join(viewer)
  }

  async #answer(message: IncomingMessage, response: ServerResponse, url: URL | null): Promise<void> {
    const asked = url?.pathname.slice('/console/api'.length) ?? ''
    const question = Object.hasOwn(this.#source.questions, asked) ? this.#source.questions[asked] : undefined
    if (question === undefined || url === null) return refuse(response, 404, 'no such question')
    await sendJson(message, response, await this.#ask(question(url.searchParams), asked))
  }

  async #ask(answer: Promise<ConsoleAnswer>, asked: string): Promise<ConsoleAnswer> {
    try {
      return await answer
    } catch (error) {
      this.#source.log.error('a question of the console failed', { asked, error })
      return { status: 503, body: { error: 'this cannot be answered now; the log of this process has the reason' } }
    }
  }
}

/** Reads the pages and makes the console; nothing is watched before someone looks. */
export async function createConsole(source: ConsoleSource): Promise<Console> {
  return new Console(source, await readPages())
}

function sendPage(message: IncomingMessage, response: ServerResponse, page: Page, cacheControl: string): void {
  const encoding = chooseEncoding(message.headers['accept-encoding'])
  const body = page.bodies[encoding]
  response.writeHead(200, {
    ...securityHeaders,
    'content-type': page.contentType,
    'content-length': body.length,
    'cache-control': cacheControl,
    vary: 'accept-encoding',
    ...(encoding !== 'identity' && { 'content-encoding': encoding }),
  })
  response.end(message.method === 'HEAD' ? undefined : body)
}

async function sendJson(
  message: IncomingMessage,
  response: ServerResponse,
  { status, body }: ConsoleAnswer,
): Promise<void> {
  const plain = Buffer.from(`${JSON.stringify(body)}\n`)
  const takesGzip = chooseEncoding(message.headers['accept-encoding']) !== 'identity'
  const isZipped = takesGzip && plain.length > worthCompressing
  const sent = isZipped ? await promisify(gzip)(plain, { level: 3 }) : plain
  response.writeHead(status, {
    ...securityHeaders,
    'content-type': 'application/json',
    'content-length': sent.length,
    'cache-control': 'no-store',
    vary: 'accept-encoding',
    ...(isZipped && { 'content-encoding': 'gzip' }),
  })
  response.end(message.method === 'HEAD' ? undefined : sent)
}

function redirect(response: ServerResponse): void {
  response.writeHead(308, { ...securityHeaders, location: consolePath }).end()
}

function refuse(response: ServerResponse, status: number, reason: string): void {
  response.writeHead(status, { ...securityHeaders, 'content-type': 'text/plain; charset=utf-8' }).end(`${reason}\n`)
}
