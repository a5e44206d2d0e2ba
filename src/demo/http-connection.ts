import { connect, type Socket } from 'node:net'

/** The Host header of each request. */
export const loadHost = 'demo'

export interface Target {
  readonly host: string
  readonly port: number
  readonly source: string | undefined
}

export interface Answer {
  /** First word of the body: the pod's name. */
  readonly pod?: string
  /** The reason why no pod answered: an error code, `closed`, `timeout` or `status N`. */
  readonly failure?: string
}

/**
 * One TCP connection with at most one HTTP request in flight. Only what a load generator needs of HTTP/1.1: answers with a
 * Content-Length, `Connection: close` from the server. Far cheaper than node:http, and the server closes first, so that
 * no port of the client waits in TIME_WAIT.
 */
export class HttpConnection {
  readonly #socket: Socket
  readonly #request: string
  #received = ''
  #answer: ((answer: Answer) => void) | undefined
  /** False once the other side has closed or announced that it will. */
  isOpen = true

  constructor(target: Target, keepAlive: boolean, timeoutMs: number) {
    this.#request = `GET / HTTP/1.1\r\nHost: ${loadHost}\r\n${keepAlive ? '' : 'Connection: close\r\n'}\r\n`
    this.#socket = connect({
      host: target.host,
      port: target.port,
      noDelay: true,
      ...(target.source === undefined ? {} : { localAddress: target.source }),
    })
    this.#socket.setEncoding('latin1')
    this.#socket.setTimeout(timeoutMs, () => this.#fail('timeout'))
    this.#socket.on('data', (chunk: string) => this.#read(chunk))
    this.#socket.on('error', (error: NodeJS.ErrnoException) => this.#fail(error.code ?? error.message))
    this.#socket.on('end', () => this.#fail('closed'))
  }

  get isIdle(): boolean {
    return this.isOpen && this.#answer === undefined
  }

  /** Never rejects. Only while idle. */
  send(): Promise<Answer> {
    return new Promise((resolve) => {
      this.#answer = resolve
      this.#socket.write(this.#request)
    })
  }

  close(): void {
    this.isOpen = false
    this.#socket.destroy()
  }

  #read(chunk: string): void {
    this.#received += chunk
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = this.#received.slice(0, headEnd)
    const body = this.#received.slice(headEnd + 4)
    if (body.length < Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)) return
    this.#received = ''
    if (/^connection: close/im.test(head)) this.isOpen = false
    const status = head.slice(9, 12)
    this.#settle(status === '200' ? { pod: body.split(' ', 1)[0] ?? '' } : { failure: `status ${status}` })
  }

  #fail(reason: string): void {
    this.close()
    this.#settle({ failure: reason })
  }

  #settle(answer: Answer): void {
    const settle = this.#answer
    this.#answer = undefined
    settle?.(answer)
  }
}
