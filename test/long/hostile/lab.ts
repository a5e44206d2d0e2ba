import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { join } from 'node:path'
import { ensureClusterCa, issueCertificate } from '../../../src/pki/index.ts'
import type { AdminAccess } from '../../helpers/platnet-server.ts'
import { RawConnection } from '../../helpers/raw-connection.ts'

export const tenantNamespace = 'tenant'
export const nodeName = 'node-1'

export interface Reply {
  readonly code: number
  readonly text: string
}

interface CallOptions {
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** One who asks, by a client certificate. */
class Identity {
  readonly #access: AdminAccess
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })

  constructor(access: AdminAccess) {
    this.#access = access
  }

  async call(method: string, path: string, body?: unknown, { type, headers }: CallOptions = {}): Promise<Reply> {
    const bytes =
      body === undefined ? '' : typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    const own =
      body === undefined
        ? {}
        : { 'content-type': type ?? 'application/json', 'content-length': Buffer.byteLength(bytes) }
    const sent = request({ ...this.#access, agent: this.#agent, method, path, headers: { ...own, ...headers } })
    const answered = once(sent, 'response')
    sent.end(bytes)
    const [response] = await answered
    response.setEncoding('utf8')
    let text = ''
    for await (const chunk of response) if (text.length < 100_000) text += chunk
    return { code: response.statusCode, text }
  }

  /** So many connections, with the bytes sent over each. */
  async open(count: number, bytes: string | Buffer = ''): Promise<RawConnection[]> {
    const { port, cert, key } = this.#access
    const connections: RawConnection[] = []
    for (let index = 0; index < count; index++) connections.push(await RawConnection.open(port, { cert, key }))
    for (const connection of connections) connection.send(bytes)
    return connections
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** The three of the trials, with the administrator who made them. */
export interface Lab {
  readonly access: AdminAccess
  readonly pid: number
  readonly admin: Identity
  /** A certificate without any role. */
  readonly outsider: Identity
  /** `admin` in one namespace. */
  readonly tenant: Identity
  readonly node: Identity
}

export async function makeIdentities(access: AdminAccess, pid: number, dataDir: string): Promise<Lab> {
  const ca = await ensureClusterCa(join(dataDir, 'pki'))
  const issue = async (commonName: string, ...organizations: string[]) => {
    const wish = { commonName, organizations, usages: ['client' as const], days: 1 }
    const { certPem: cert, keyPem: key } = await issueCertificate(ca, wish)
    return new Identity({ ...access, cert, key })
  }
  const admin = new Identity(access)
  await must(admin.call('POST', '/api/v1/namespaces', { metadata: { name: tenantNamespace } }))
  await must(admin.call('POST', '/api/v1/namespaces', { metadata: { name: 'other' } }))
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' }
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'tenant' }]
  const bindings = `/apis/rbac.authorization.k8s.io/v1/namespaces/${tenantNamespace}/rolebindings`
  await must(admin.call('POST', bindings, { metadata: { name: 'tenant' }, roleRef, subjects }))
  for (const name of [nodeName, 'node-2']) await must(admin.call('POST', '/api/v1/nodes', { metadata: { name } }))
  return {
    access,
    pid,
    admin,
    outsider: await issue('outsider'),
    tenant: await issue('tenant'),
    node: await issue(`system:node:${nodeName}`, 'system:nodes'),
  }
}

export async function must(reply: Promise<Reply>, code = 201): Promise<Reply> {
  const found = await reply
  if (found.code !== code) throw new Error(`answered ${found.code} instead of ${code}: ${found.text.slice(0, 500)}`)
  return found
}
