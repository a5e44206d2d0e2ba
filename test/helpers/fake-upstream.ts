import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { type Socket as Connection, createServer, type Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { UpstreamTarget } from '../../src/node/dns/plugins/forward/settings.ts'
import { FrameReader, frameMessage } from '../../src/node/dns/wire/frames.ts'
import { nameText } from '../../src/node/dns/wire/name.ts'
import { Query } from '../../src/node/dns/wire/query.ts'
import { ipOf } from './addresses.ts'

export interface Asked {
  /** In lower case: resolvers ask in mixed case. */
  readonly name: string
  /** As it was asked for. */
  readonly spelling: string
  readonly port: number
  readonly over: 'udp' | 'tcp'
  /** The address it was asked from. */
  readonly from: string
  readonly bytes: Buffer
}

/** What it says to a question: messages in order; nothing where the list is empty. */
export type Script = (asked: Asked) => readonly Buffer[] | Promise<readonly Buffer[]>

/** A server on the loopback that does what the test says, on the same port over UDP and TCP. */
export class FakeUpstream {
  script: Script
  readonly asked: Asked[] = []
  connections = 0
  port = 0
  #udp: Socket | undefined
  #tcp: Server | undefined
  readonly #open = new Set<Connection>()
  readonly #tls: { readonly key: string; readonly cert: string } | undefined

  constructor(script: Script, tls?: { readonly key: string; readonly cert: string }) {
    this.script = script
    this.#tls = tls
  }

  /** A port that is free for TCP may be in use for UDP: then another one is taken, unless the caller asked for this one. */
  async start(port = 0, attempts = 10): Promise<this> {
    try {
      return await this.#listen(port)
    } catch (error) {
      await this.stop()
      if (port !== 0 || attempts === 1) throw error
      return this.start(port, attempts - 1)
    }
  }

  async #listen(port: number): Promise<this> {
    const onConnection = (connection: Connection) => this.#serve(connection)
    this.#tcp = this.#tls ? createTlsServer(this.#tls, onConnection) : createServer(onConnection)
    this.#tcp.listen(port, '127.0.0.1')
    await once(this.#tcp, 'listening')
    const address = this.#tcp.address()
    this.port = typeof address === 'object' && address !== null ? address.port : 0
    this.#udp = createSocket('udp4')
    this.#udp.on('message', (bytes, from) => void this.#answer(bytes, from))
    this.#udp.bind(this.port, '127.0.0.1')
    await once(this.#udp, 'listening')
    return this
  }

  get target(): UpstreamTarget {
    return { address: ipOf('127.0.0.1'), port: this.port }
  }

  /** The names it was asked for, in order. */
  get names(): readonly string[] {
    return this.asked.map(({ name }) => name)
  }

  async stop(): Promise<void> {
    for (const connection of this.#open) connection.destroy()
    const closed = [this.#udp, this.#tcp].map((server) => server && once(server, 'close'))
    this.#udp?.close()
    this.#tcp?.close()
    await Promise.all(closed)
  }

  async #answer(bytes: Buffer, from: RemoteInfo): Promise<void> {
    for (const message of await this.script(this.#note(bytes, 'udp', from)))
      this.#udp?.send(message, from.port, from.address)
  }

  #serve(connection: Connection): void {
    this.connections += 1
    this.#open.add(connection)
    const frames = new FrameReader()
    connection.on('error', () => {})
    connection.on('close', () => this.#open.delete(connection))
    connection.on('data', async (chunk: Buffer) => {
      for (const bytes of frames.push(chunk))
        for (const message of await this.script(
          this.#note(bytes, 'tcp', { address: connection.remoteAddress, port: connection.remotePort }),
        ))
          connection.write(frameMessage(message))
    })
  }

  #note(
    bytes: Buffer,
    over: Asked['over'],
    from: { readonly address?: string | undefined; readonly port?: number | undefined },
  ): Asked {
    const query = new Query()
    query.parse(bytes, bytes.length)
    const spelling = nameText(query.name)
    const { address = '', port = 0 } = from
    const asked = { name: spelling.toLowerCase(), spelling, over, from: address, port, bytes: Buffer.from(bytes) }
    this.asked.push(asked)
    return asked
  }
}
