/**
 * One line of a watch as HTTP/1.1 sends it: a chunk (RFC 9112, 7.1) with the line in it. Made once for all who watch, so that to each of them it
 * is one write of the same bytes.
 */
export class WatchLine {
  readonly chunk: Buffer
  readonly #start: number

  constructor(text: string) {
    const size = `${Buffer.byteLength(text).toString(16)}${lineEnd}`
    this.chunk = Buffer.from(`${size}${text}${lineEnd}`)
    this.#start = size.length
  }

  /** The line alone. */
  get content(): Buffer {
    return this.chunk.subarray(this.#start, -lineEnd.length)
  }

  toString(): string {
    return this.content.toString()
  }
}

const lineEnd = '\r\n'
