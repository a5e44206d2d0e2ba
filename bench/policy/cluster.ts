import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import type { AdminAccess } from '../../test/helpers/platnet-server.ts'
import { inParallel } from '../in-parallel.ts'

export interface Size {
  readonly localPods: number
  readonly remotePods: number
  readonly policies: number
  readonly namespaces: number
}

export interface PodDescription {
  readonly namespace: string
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly node: 'platnet' | 'other'
  /** Written into its status where it has one. */
  readonly ip?: string
}

const clients = 16
/** The namespaces that have pods on this node. */
const localNamespaces = 10

/** Addresses of the pods of this node: the last ones are for single tests. */
export function localAddress(pod: number): string {
  return `10.244.0.${2 + pod}`
}

/** Addresses of the pods of other nodes; those from 10.245.240.0 on are for single tests. */
function remoteAddress(pod: number): string {
  return `10.245.${pod >> 8}.${pod & 255}`
}

export const podPeer = (labels: Readonly<Record<string, string>>) => ({ podSelector: { matchLabels: labels } })
export const probePorts = [
  { protocol: 'TCP', port: 8080 },
  { protocol: 'UDP', port: 9000 },
]

/**
 * The cluster of one size, as its administrator makes it. Pods and policies are spread over namespaces with as many apps as each namespace
 * has pairs of policies: one says who may reach an app (another app, the next namespace's, an ipBlock), one whom it may reach.
 */
export class PolicyCluster {
  readonly #connection: AdminConnection
  readonly size: Size

  constructor(access: AdminAccess, size: Size) {
    this.#connection = new AdminConnection(access, clients)
    this.size = size
  }

  get #apps(): number {
    const { policies, namespaces } = this.size
    return Math.max(1, Math.floor(policies / namespaces / 2))
  }

  async create(): Promise<void> {
    for (const name of ['platnet', 'other']) await this.#createNode(name)
    const { namespaces, localPods, remotePods } = this.size
    await inParallel(namespaces, (index) => this.createNamespace(`team-${index}`, { team: String(index) }))
    await inParallel(namespaces * this.#apps, (index) => this.#createPair(index))
    await inParallel(localPods, (pod) => this.createPod(this.#localPod(pod)))
    await inParallel(remotePods, (pod) => this.createPod(this.#remotePod(pod)))
  }

  async createNamespace(name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.#call('POST', '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } })
  }

  /** Resolves with the answer to the last write. */
  async createPod({ namespace, name, labels, node, ip }: PodDescription): Promise<void> {
    const containers = [{ name: 'server', image: 'server', ports: [{ name: 'http', containerPort: 8080 }] }]
    const spec = { nodeName: node, containers }
    const path = `/api/v1/namespaces/${namespace}/pods`
    await this.#call('POST', path, { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec })
    const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }] }
    if (ip !== undefined) await this.#call('PATCH', `${path}/${name}/status`, { status })
  }

  async setPodLabels(namespace: string, name: string, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.#call('PATCH', `/api/v1/namespaces/${namespace}/pods/${name}`, { metadata: { labels } })
  }

  async createPolicy(namespace: string, name: string, spec: object): Promise<void> {
    await this.#call('POST', policies(namespace), policy(name, spec))
  }

  async replacePolicy(namespace: string, name: string, spec: object): Promise<void> {
    await this.#call('PUT', `${policies(namespace)}/${name}`, policy(name, spec))
  }

  async deletePolicy(namespace: string, name: string): Promise<void> {
    await this.#call('DELETE', `${policies(namespace)}/${name}`)
  }

  close(): void {
    this.#connection.close()
  }

  async #call(method: string, path: string, object?: unknown): Promise<void> {
    const { code, body } = await this.#connection.call(method, path, object)
    if (code > 299) throw new Error(`${method} ${path} was answered with ${code}: ${body.message}`)
  }

  async #createNode(name: string): Promise<void> {
    const spec = { podCIDR: name === 'platnet' ? '10.244.0.0/24' : '10.245.0.0/16' }
    await this.#call('POST', '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name }, spec })
    const address = name === 'platnet' ? '198.51.100.2' : '198.51.100.3'
    const status = { addresses: [{ type: 'InternalIP', address }] }
    await this.#call('PATCH', `/api/v1/nodes/${name}/status`, { status })
  }

  #localPod(pod: number): PodDescription {
    const count = Math.min(localNamespaces, this.size.namespaces)
    const labels = { app: `app-${Math.floor(pod / count) % this.#apps}` }
    return { namespace: `team-${pod % count}`, name: `local-${pod}`, labels, node: 'platnet', ip: localAddress(pod) }
  }

  #remotePod(pod: number): PodDescription {
    const { namespaces } = this.size
    const labels = { app: `app-${Math.floor(pod / namespaces) % this.#apps}` }
    const namespace = `team-${pod % namespaces}`
    return { namespace, name: `remote-${pod}`, labels, node: 'other', ip: remoteAddress(pod) }
  }

  async #createPair(index: number): Promise<void> {
    const { namespaces } = this.size
    const [own, app] = [index % namespaces, Math.floor(index / namespaces)]
    const next = { namespaceSelector: { matchLabels: { team: String((own + 1) % namespaces) } } }
    const clientsOfApp = [
      podPeer({ app: `app-${(app + 1) % this.#apps}` }),
      { ...podPeer({ app: `app-${app}` }), ...next },
    ]
    const outside = { ipBlock: { cidr: '203.0.113.0/24', except: ['203.0.113.128/25'] } }
    await this.createPolicy(`team-${own}`, `in-${app}`, {
      ...podPeer({ app: `app-${app}` }),
      policyTypes: ['Ingress'],
      ingress: [
        { from: clientsOfApp, ports: probePorts },
        { from: [outside], ports: [{ protocol: 'TCP', port: 8443 }] },
      ],
    })
    const dns = { namespaceSelector: { matchLabels: { team: 'system' } }, ...podPeer({ 'k8s-app': 'kube-dns' }) }
    await this.createPolicy(`team-${own}`, `out-${app}`, {
      ...podPeer({ app: `app-${app}` }),
      policyTypes: ['Egress'],
      egress: [
        { to: [podPeer({ app: `app-${(app + this.#apps - 1) % this.#apps}` })], ports: probePorts },
        { to: [dns], ports: [{ protocol: 'UDP', port: 53 }] },
      ],
    })
  }
}

const policies = (namespace: string) => `/apis/networking.k8s.io/v1/namespaces/${namespace}/networkpolicies`

function policy(name: string, spec: object): object {
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { name }, spec }
}
