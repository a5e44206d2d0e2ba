import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import type { AdminAccess } from '../../test/helpers/platnet-server.ts'

export const configMaps = '/api/v1/namespaces/default/configmaps'

/** About 1 KB, as a small Service or ConfigMap is. */
export function configMapText(name: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, labels: { app: 'bench' } },
    data: { blob: 'x'.repeat(900) },
  })
}

export class Connection {
  readonly #access: AdminAccess
  readonly #agent: Agent

  constructor(access: AdminAccess, connections: number) {
    this.#access = access
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  /** Resolves with the bytes of the body; anything but a 2xx rejects. */
  async send(method: string, path: string, body?: string): Promise<number> {
    const response = await this.open(method, path, body)
    let bytes = 0
    for await (const chunk of response) bytes += (chunk as Buffer).length
    return bytes
  }

  open(method: string, path: string, body?: string): Promise<IncomingMessage> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const headers = body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) }
    return new Promise((resolve, reject) => {
      request({ ...this.#access, agent: this.#agent, method, path, headers }, (response) => {
        const code = response.statusCode ?? 0
        if (code >= 200 && code < 300) resolve(response)
        else reject(new Error(`${method} ${path} was answered with ${code}`))
      })
        .on('error', reject)
        .end(body)
    })
  }
}
