import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import type { AdminAccess } from '../../test/helpers/platnet-server.ts'

const headEnd = '\r\n\r\n'
const lastChunk = `0${headEnd}`
const [lineFeed, carriageReturn] = [10, 13]

export interface RawAnswer {
  readonly code: number
  /** As it came, chunk sizes and all. */
  readonly bytes: number
}

/**
 * One HTTP/1.1 connection with one request under way: what it costs to generate load must not be what is measured. Knows answers with a
 * Content-Length or in chunks, and of those only their end.
 */
export class RawClient {
  readonly #socket: TLSSocket
  readonly #host: string
  #pending: PendingAnswer | undefined

  private constructor(socket: TLSSocket, host: string) {
    this.#socket = socket
    this.#host = host
    socket.setNoDelay(true)
    socket.on('data', (data: Buffer) => {
      if (this.#pending?.take(data)) this.#pending = undefined
    })
    socket.on('error', (error) => this.#pending?.fail(error))
    socket.on('close', () => this.#pending?.fail(new Error('the connection was closed')))
  }

  static async open(access: AdminAccess): Promise<RawClient> {
    const { host, port, ca, cert, key } = access
    const socket = connect({ host, port, ca, cert, key, ALPNProtocols: ['http/1.1'] })
    await once(socket, 'secureConnect')
    return new RawClient(socket, `${host}:${port}`)
  }

  /** Resolves once the whole answer is there. `body` is ASCII. */
  send(method: string, path: string, body = '', contentType = 'application/json'): Promise<RawAnswer> {
    const pending = new PendingAnswer()
    this.#pending = pending
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${this.#host}`
    const about = body === '' ? '' : `\r\ncontent-type: ${contentType}\r\ncontent-length: ${body.length}`
    this.#socket.write(`${head}${about}${headEnd}${body}`, 'latin1')
    return pending.answer
  }

  /** Calls back for every line of a watch, with the time at which its end came. */
  watch(path: string, onLine: (nowMs: number, line: Buffer) => void): void {
    let previous = 0
    let rest: Buffer | undefined
    this.#socket.on('data', (received: Buffer) => {
      const nowMs = performance.now()
      const data = rest === undefined ? received : Buffer.concat([rest, received])
      let start = 0
      for (let at = data.indexOf(lineFeed); at !== -1; at = data.indexOf(lineFeed, start)) {
        // Other line ends are those of HTTP.
        if ((at === 0 ? previous : data[at - 1]) !== carriageReturn) onLine(nowMs, data.subarray(start, at))
        start = at + 1
      }
      rest = start === data.length ? undefined : data.subarray(start)
      previous = data.at(-1) ?? previous
    })
    this.#socket.write(`GET ${path} HTTP/1.1\r\nhost: ${this.#host}${headEnd}`, 'latin1')
  }

  onClose(listener: () => void): void {
    this.#socket.once('close', listener)
  }

  close(): void {
    this.#socket.destroy()
  }
}

/** The answer to one request while it comes. */
class PendingAnswer {
  readonly #settle = Promise.withResolvers<RawAnswer>()
  #head = ''
  #bodyBytes = 0
  #tail = ''

  get answer(): Promise<RawAnswer> {
    return this.#settle.promise
  }

  /** True when it was the last of it. */
  take(data: Buffer): boolean {
    let body = data
    if (!this.#head.includes(headEnd)) {
      this.#head += data.toString('latin1')
      const end = this.#head.indexOf(headEnd)
      if (end === -1) return false
      body = Buffer.from(this.#head.slice(end + headEnd.length), 'latin1')
      this.#head = this.#head.slice(0, end + headEnd.length)
    }
    this.#bodyBytes += body.length
    this.#tail = (this.#tail + body.subarray(-lastChunk.length).toString('latin1')).slice(-lastChunk.length)
    if (!this.#isWhole()) return false
    this.#settle.resolve({ code: Number(this.#head.slice(9, 12)), bytes: this.#bodyBytes })
    return true
  }

  fail(error: Error): void {
    this.#settle.reject(error)
  }

  #isWhole(): boolean {
    const length = /\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1]
    return length === undefined ? this.#tail === lastChunk : this.#bodyBytes >= Number(length)
  }
}
