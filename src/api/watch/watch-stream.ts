import { once } from 'node:events'
import type { ServerResponse } from 'node:http'

/**
 * Bytes that one watcher may leave unread before it is cut off; a client that reads again lists and catches up. The
 * system's socket buffers come on top.
 */
const maxUnreadBytes = 4 * 1024 * 1024

/** The answer of one watch: lines in, chunked HTTP out. */
export class WatchStream {
  readonly #response: ServerResponse
  readonly #onSlow: () => void
  /** Live lines that wait for the initial ones to be read; undefined once these are through. */
  #waiting: (Buffer | string)[] | undefined = []
  #waitingBytes = 0

  constructor(response: ServerResponse, onSlow: () => void) {
    this.#response = response
    this.#onSlow = onSlow
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded
  }

  open(): void {
    this.#response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' })
    this.#response.flushHeaders()
  }

  /** Waits while the client has much left to read: the initial state may be any size and costs no memory. */
  async sendInitial(line: string): Promise<void> {
    if (!this.isOpen || this.#response.write(line)) return
    const closed = new AbortController()
    const abort = () => closed.abort()
    this.#response.once('close', abort)
    await once(this.#response, 'drain', { signal: closed.signal }).catch(() => {})
    this.#response.off('close', abort)
  }

  /** After the initial lines: sends what came meanwhile, then everything at once. */
  goLive(): void {
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const line of waiting) this.send(line)
  }

  send(line: Buffer | string): void {
    if (!this.isOpen) return
    if (this.#waiting === undefined) this.#response.write(line)
    else {
      this.#waiting.push(line)
      this.#waitingBytes += line.length
    }
    if (
      Math.max(this.#response.writableLength, this.#waiting === undefined ? 0 : this.#waitingBytes) > maxUnreadBytes
    ) {
      this.#onSlow()
      this.#response.destroy()
    }
  }

  end(): void {
    if (this.isOpen) this.#response.end()
  }

  /** At once when the client has left already. */
  onClose(listener: () => void): void {
    if (this.#response.closed || this.#response.destroyed) listener()
    else this.#response.once('close', listener)
  }
}
