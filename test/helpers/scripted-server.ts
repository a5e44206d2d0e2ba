import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { Server, Socket } from 'node:net'
import { ApiClient, accessByServer } from '../../src/client/index.ts'

export type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

/** A real server on loopback that answers as its script says; `requests` holds the URLs in order. */
export class ScriptedServer implements AsyncDisposable {
  readonly requests: string[] = []
  readonly sockets = new Set<Socket>()
  answer: Answer
  #server: Server | undefined
  #port = 0
  readonly #tls: { key: string; cert: string } | undefined

  constructor(answer: Answer, tls?: { key: string; cert: string }) {
    this.answer = answer
    this.#tls = tls
  }

  get url(): string {
    return `${this.#tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`
  }

  /** Also after `down`: the port stays the same. */
  async up(): Promise<this> {
    const listener: RequestListener = (request, response) => {
      this.requests.push(request.url ?? '')
      void this.answer(request, response)
    }
    const server = this.#tls === undefined ? createServer(listener) : createTlsServer(this.#tls, listener)
    server.on('connection', (socket) => {
      this.sockets.add(socket)
      socket.on('close', () => this.sockets.delete(socket))
    })
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    const address = server.address()
    this.#port = typeof address === 'object' && address !== null ? address.port : 0
    this.#server = server
    return this
  }

  async down(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    for (const socket of this.sockets) socket.destroy()
    if (server !== undefined) await new Promise((resolve) => server.close(resolve))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.down()
  }
}

export function startServer(answer: Answer): Promise<ScriptedServer> {
  return new ScriptedServer(answer).up()
}

export function clientOf(server: ScriptedServer, options: { timeoutMs?: number } = {}): ApiClient {
  return new ApiClient(accessByServer(server.url), options)
}

export function sendJson(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export function statusBody(code: number, reason: string, message: string, details: object = {}) {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message, details }
}

export async function readRequest(request: IncomingMessage): Promise<string> {
  let body = ''
  for await (const chunk of request) body += chunk
  return body
}
