import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP proxy on the loopback that can keep back what the server answers, while what clients send still arrives. */
export class FreezingProxy implements AsyncDisposable {
  readonly url: string
  readonly #server: Server
  readonly #backends = new Set<Socket>()
  readonly #sockets = new Set<Socket>()
  readonly #state: { isFrozen: boolean }

  private constructor(server: Server, sockets: Set<Socket>, backends: Set<Socket>, state: { isFrozen: boolean }) {
    this.#server = server
    this.#sockets = sockets
    this.#backends = backends
    this.#state = state
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  static async start(target: string): Promise<FreezingProxy> {
    const port = Number(new URL(target).port)
    const sockets = new Set<Socket>()
    const backends = new Set<Socket>()
    const state = { isFrozen: false }
    const server = createServer((client) => {
      const backend = connect(port, '127.0.0.1')
      for (const socket of [client, backend]) {
        sockets.add(socket.on('error', () => {}))
        socket.once('close', () => {
          for (const end of [client, backend]) end.destroy()
        })
      }
      backends.add(backend)
      client.pipe(backend)
      backend.pipe(client)
      if (state.isFrozen) backend.unpipe(client).pause()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new FreezingProxy(server, sockets, backends, state)
  }

  /** From now on clients get no answer. */
  freeze(): void {
    this.#state.isFrozen = true
    for (const backend of this.#backends) backend.unpipe().pause()
  }

  /** New connections get answers again; frozen ones end. */
  thaw(): void {
    this.#state.isFrozen = false
    for (const socket of this.#sockets) socket.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}
