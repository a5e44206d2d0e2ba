import type { Duplex } from 'node:stream'
import { constants, createInflate } from 'node:zlib'

/** A SPDY/3.1 connection as a kubelet has it: the streams that a client opened, and what came in each. Written after the standard, beside the product's own frames. */
export class SpdyKubelet {
  readonly #socket: Duplex
  readonly #inflate = createInflate({ finishFlush: constants.Z_SYNC_FLUSH })
  #rest: Buffer = Buffer.alloc(0)
  #inflated: Buffer = Buffer.alloc(0)
  readonly #opened: { readonly id: number; type?: string }[] = []
  readonly received = new Map<string, string>()
  readonly ended = new Set<string>()
  readonly pings: number[] = []

  constructor(socket: Duplex, headers: readonly string[] = ['X-Stream-Protocol-Version: v4.channel.k8s.io']) {
    this.#socket = socket
    socket.write(
      ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', 'Upgrade: SPDY/3.1', ...headers, '', ''].join('\r\n'),
    )
    this.#inflate.on('data', (chunk: Buffer) => this.#onHeaders(chunk))
    socket.on('data', (chunk: Buffer) => this.#onData(chunk))
  }

  /** The names of the streams in the order in which they were opened. */
  get opened(): readonly (string | undefined)[] {
    return this.#opened.map(({ type }) => type)
  }

  /** Sends bytes in a stream; `isLast` ends it. */
  send(name: string, text: string | Buffer, isLast = false): void {
    const bytes = Buffer.from(text)
    const head = Buffer.alloc(8)
    head.writeUInt32BE(this.#idOf(name))
    head.writeUInt32BE(bytes.length, 4)
    head[4] = isLast ? 1 : 0
    this.#socket.write(Buffer.concat([head, bytes]))
  }

  /** Sends a control frame with the numbers as its content. */
  sendControl(type: number, ...numbers: readonly number[]): void {
    const frame = Buffer.alloc(8 + 4 * numbers.length)
    frame.writeUInt16BE(0x8003)
    frame.writeUInt16BE(type, 2)
    frame.writeUInt32BE(4 * numbers.length, 4)
    for (const [index, value] of numbers.entries()) frame.writeUInt32BE(value, 8 + 4 * index)
    this.#socket.write(frame)
  }

  /** Ends streams as a container runtime does that closes its connection: RST_STREAM, with the status CANCEL. */
  reset(...names: readonly string[]): void {
    for (const name of names) this.sendControl(3, this.#idOf(name), 5)
  }

  #idOf(name: string): number {
    const stream = this.#opened.find(({ type }) => type === name)
    if (stream === undefined) throw new Error(`the client opened no stream ${name}`)
    return stream.id
  }

  #onData(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk])
    while (this.#rest.length >= 8) {
      const length = this.#rest.readUInt32BE(4) & 0xffffff
      if (this.#rest.length < 8 + length) return
      const content = this.#rest.subarray(8, 8 + length)
      if ((this.#rest[0] ?? 0) >= 0x80) this.#onControl(this.#rest.readUInt16BE(2), content)
      else this.#onStream(this.#rest.readUInt32BE(), content, this.#rest[4] === 1)
      this.#rest = this.#rest.subarray(8 + length)
    }
  }

  #onControl(type: number, content: Buffer): void {
    if (type === 6) this.pings.push(content.readUInt32BE())
    if (type !== 1) return
    this.#opened.push({ id: content.readUInt32BE() })
    // Go's reader gives out no block before it has seen the next one, and then fails where the frame has none.
    if (!content.subarray(-4).equals(Buffer.from([0, 0, 0xff, 0xff]))) throw new Error('the headers are not flushed')
    this.#inflate.write(content.subarray(10))
  }

  #onStream(id: number, content: Buffer, isLast: boolean): void {
    const name = this.#opened.find((each) => each.id === id)?.type ?? `?${id}`
    this.received.set(name, (this.received.get(name) ?? '') + content.toString('latin1'))
    if (isLast) this.ended.add(name)
  }

  /** A header block: the number of pairs, then each name and value after its length. All of a command have one pair. */
  #onHeaders(chunk: Buffer): void {
    this.#inflated = Buffer.concat([this.#inflated, chunk])
    while (this.#inflated.length > 0) {
      const texts: string[] = []
      let at = 4
      while (texts.length < 2) {
        if (this.#inflated.length < at + 4) return
        const end = at + 4 + this.#inflated.readUInt32BE(at)
        if (this.#inflated.length < end) return
        texts.push(this.#inflated.toString('utf8', at + 4, end))
        at = end
      }
      const [name, value = ''] = texts
      const stream = this.#opened.find(({ type }) => type === undefined)
      if (stream !== undefined && name === 'streamtype') stream.type = value
      this.#inflated = this.#inflated.subarray(at)
    }
  }
}
