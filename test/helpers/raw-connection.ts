import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'

/** A TLS connection over which a test sends bytes as it likes; `text` is what came back. */
export class RawConnection implements Disposable {
  readonly socket: TLSSocket
  text = ''

  private constructor(socket: TLSSocket) {
    this.socket = socket
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      if (this.text.length < 1_000_000) this.text += chunk
    })
  }

  static async open(port: number, identity: { readonly cert?: string; readonly key?: string } = {}) {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...identity })
    const connection = new RawConnection(socket)
    await once(socket, 'secureConnect')
    return connection
  }

  get isClosed(): boolean {
    return this.socket.closed
  }

  send(text: string | Buffer): this {
    this.socket.write(text)
    return this
  }

  [Symbol.dispose](): void {
    this.socket.destroy()
  }
}

/** The head of a request as a client with a bearer token sends it. */
export function requestHead(method: string, path: string, token: string, headers: readonly string[] = []): string {
  return [`${method} ${path} HTTP/1.1`, 'host: x', `authorization: Bearer ${token}`, ...headers, '', ''].join('\r\n')
}
