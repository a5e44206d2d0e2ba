/**
 * One line of a watch in HTTP/1.1: a chunk (RFC 9112, 7.1) that holds the line. It is encoded once for all watchers, so that each of them
 * costs one write of the same bytes.
 */
export class WatchLine {
  readonly chunk: Buffer
  readonly #start: number

  constructor(text: string) {
    const size = `${Buffer.byteLength(text).toString(16)}${lineEnd}`
    this.chunk = Buffer.from(`${size}${text}${lineEnd}`)
    this.#start = size.length
  }

  /** The line without its chunk framing. */
  get content(): Buffer {
    return this.chunk.subarray(this.#start, -lineEnd.length)
  }

  toString(): string {
    return this.content.toString()
  }
}

const lineEnd = '\r\n'
