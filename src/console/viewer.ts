import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { constants, createGzip, type Gzip } from 'node:zlib'
import { securityHeaders } from './security-headers.ts'

/** Bytes that may wait for a slow viewer; beyond them the stream ends, and the page opens another one. */
const maxWaitingBytes = 8 * 1024 * 1024

/** One open stream of server-sent events (HTML standard, section 9.2), compressed where the browser takes gzip. */
export class Viewer {
  readonly #response: ServerResponse
  readonly #gzip: Gzip | undefined
  /** Aborts when the viewer has gone. */
  readonly gone: AbortSignal

  constructor(message: IncomingMessage, response: ServerResponse) {
    const gone = new AbortController()
    this.gone = gone.signal
    this.#response = response
    const takesGzip = /\bgzip\b/.test(String(message.headers['accept-encoding'] ?? ''))
    response.writeHead(200, {
      ...securityHeaders,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      ...(takesGzip && { 'content-encoding': 'gzip', vary: 'accept-encoding' }),
    })
    this.#gzip = takesGzip ? createStreamGzip(response) : undefined
    response.once('close', () => {
      gone.abort()
      this.#gzip?.destroy()
    })
  }

  send(event: string, value: unknown): void {
    this.sendText(eventText(event, value))
  }

  /** Sends the text of one or several events. */
  sendText(text: string): void {
    if (this.gone.aborted) return
    const out = this.#gzip ?? this.#response
    out.write(text)
    if (this.#response.writableLength + (this.#gzip?.writableLength ?? 0) > maxWaitingBytes) this.end()
  }

  /** Resolves once most of what was sent has left this process. */
  async drained(): Promise<void> {
    const out = this.#gzip ?? this.#response
    if (!out.writableNeedDrain || this.gone.aborted) return
    await once(out, 'drain', { signal: this.gone }).catch(() => {})
  }

  end(): void {
    this.#response.destroy()
  }
}

export function eventText(event: string, value: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(value)}\n\n`
}

/** Flushes after each write, so that an event arrives at once. 32 KiB of window and the lowest level: deltas are small. */
function createStreamGzip(response: ServerResponse): Gzip {
  const gzip = createGzip({ level: 3, memLevel: 7, flush: constants.Z_SYNC_FLUSH })
  gzip.pipe(response)
  gzip.on('error', () => response.destroy())
  return gzip
}
