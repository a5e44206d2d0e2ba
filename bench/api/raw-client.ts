import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import type { AdminAccess } from '../../test/helpers/platnet-server.ts'

const headEnd = '\r\n\r\n'

/**
 * One HTTP/1.1 connection with one request under way: what it costs to generate load must not be what is measured. Knows answers with a
 * Content-Length or in chunks, and of those only their end.
 */
export class RawClient {
  readonly #socket: TLSSocket
  readonly #host: string
  #received = ''
  #settle: PromiseWithResolvers<number> | undefined

  private constructor(socket: TLSSocket, host: string) {
    this.#socket = socket
    this.#host = host
    socket.setNoDelay(true)
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => this.#take(text))
    socket.on('error', (error) => this.#settle?.reject(error))
    socket.on('close', () => this.#settle?.reject(new Error('the connection was closed')))
  }

  static async open(access: AdminAccess): Promise<RawClient> {
    const { host, port, ca, cert, key } = access
    const socket = connect({ host, port, ca, cert, key, ALPNProtocols: ['http/1.1'] })
    await once(socket, 'secureConnect')
    return new RawClient(socket, `${host}:${port}`)
  }

  /** Resolves with the status code once the whole answer is there. `body` is ASCII. */
  post(path: string, body: string): Promise<number> {
    const settle = Promise.withResolvers<number>()
    this.#settle = settle
    const head = `POST ${path} HTTP/1.1\r\nhost: ${this.#host}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}`
    this.#socket.write(`${head}${headEnd}${body}`, 'latin1')
    return settle.promise
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(text: string): void {
    this.#received += text
    const end = this.#received.indexOf(headEnd)
    if (end === -1 || !isWhole(this.#received, end)) return
    const code = Number(this.#received.slice(9, 12))
    this.#received = ''
    this.#settle?.resolve(code)
  }
}

function isWhole(received: string, headLength: number): boolean {
  const length = /\r\ncontent-length: (\d+)/i.exec(received.slice(0, headLength + 2))?.[1]
  if (length === undefined) return received.endsWith(`0${headEnd}`)
  return received.length >= headLength + headEnd.length + Number(length)
}
