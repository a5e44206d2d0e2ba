import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { buffer } from 'node:stream/consumers'
import type { AdminAccess } from './platnet-server.ts'

export interface AdminReply {
  readonly code: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into any answer
  readonly body: any
}

/** Requests as the administrator over connections that are kept. */
export class AdminConnection {
  readonly #access: AdminAccess
  readonly #agent: Agent

  constructor(access: AdminAccess, connections: number) {
    this.#access = access
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  /** The answer's body, parsed, whatever its code. */
  async call(method: string, path: string, body?: unknown): Promise<AdminReply> {
    const response = await this.open(method, path, body === undefined ? undefined : JSON.stringify(body))
    return { code: response.statusCode ?? 0, body: JSON.parse((await buffer(response)).toString()) }
  }

  /** Resolves with the bytes of the body; anything but a 2xx rejects. */
  async send(method: string, path: string, body?: string): Promise<number> {
    const response = await this.open(method, path, body)
    const { statusCode = 0 } = response
    if (statusCode < 200 || statusCode > 299) throw new Error(`${method} ${path} was answered with ${statusCode}`)
    let bytes = 0
    for await (const chunk of response) bytes += (chunk as Buffer).length
    return bytes
  }

  open(method: string, path: string, body?: string): Promise<IncomingMessage> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const headers = body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }
    return new Promise((resolve, reject) => {
      request({ ...this.#access, agent: this.#agent, method, path, headers }, resolve)
        .on('error', reject)
        .end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}
