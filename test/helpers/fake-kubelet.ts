import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Authority } from './authority.ts'

export interface FakeBackend extends AsyncDisposable {
  readonly port: number
  /** The requests so far: `GET /path?query`, with the names of the client certificates. */
  readonly asked: readonly {
    readonly line: string
    readonly client: string
    readonly headers: IncomingMessage['headers']
  }[]
  /** The number of connections that are open. */
  readonly open: () => number
  /** Resets all connections (RST). */
  readonly reset: () => void
}

export interface FakeAnswers {
  readonly onRequest?: (request: IncomingMessage, response: ServerResponse) => void
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** The head of an answer that changes the protocol. */
export const unasked = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'

/** A server in the place of a kubelet (with the authority, over TLS with client certificates) or of a pod (plain), on loopback. */
export async function startFakeBackend(answers: FakeAnswers, authority?: Authority): Promise<FakeBackend> {
  const asked: { line: string; client: string; headers: IncomingMessage['headers'] }[] = []
  const sockets = new Set<Socket>()
  const server =
    authority === undefined
      ? createServer()
      : createTlsServer({ ...(await tlsOf(authority)), requestCert: true, rejectUnauthorized: false })
  const note = (request: IncomingMessage) => {
    const { socket } = request
    const subject =
      'getPeerCertificate' in socket ? (socket as never as PeerSocket).getPeerCertificate().subject : undefined
    asked.push({ line: `${request.method} ${request.url}`, client: subject?.CN ?? '', headers: request.headers })
  }
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    note(request)
    if (answers.onRequest === undefined) response.writeHead(404).end('404 page not found\n')
    else answers.onRequest(request, response)
  })
  if (answers.onUpgrade !== undefined)
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      note(request)
      socket.on('error', () => {})
      answers.onUpgrade?.(request, socket, head)
      socket.on('end', () => socket.end()).resume()
    })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    open: () => sockets.size,
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface PeerSocket {
  getPeerCertificate(): { readonly subject?: { readonly CN?: string } }
}

async function tlsOf(authority: Authority) {
  const { certPem, keyPem } = await authority.issue('system:node:n1', 'system:nodes')
  return { cert: certPem, key: keyPem, ca: authority.certPem }
}
