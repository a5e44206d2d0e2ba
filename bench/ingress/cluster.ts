import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import type { AdminAccess } from '../../test/helpers/platnet-server.ts'

const clients = 16
const namespace = 'shop'
const slicesPath = `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`
const ingressesPath = `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`

export interface Endpoint {
  readonly address: string
  readonly port: number
}

export interface RulePath {
  readonly host: string
  readonly path: string
  readonly service: string
}

/** The cluster whose Ingresses are measured, as its administrator makes it. Every write resolves with the API's answer. */
export class IngressCluster {
  readonly #connection: AdminConnection

  constructor(access: AdminAccess) {
    this.#connection = new AdminConnection(access, clients)
  }

  async create(): Promise<void> {
    await this.#call('POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
    })
    await this.#call('POST', '/apis/networking.k8s.io/v1/ingressclasses', {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name: 'platnet' },
      spec: { controller: 'platform.internal/ingress' },
    })
  }

  /** A Service without a selector, and a slice with its endpoints. */
  async createService(name: string, endpoints: readonly Endpoint[]): Promise<void> {
    const spec = { ports: [{ name: 'http', port: 80 }] }
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name }, spec }
    await this.#call('POST', `/api/v1/namespaces/${namespace}/services`, service)
    await this.#call('POST', slicesPath, slice(name, endpoints))
  }

  async setEndpoints(service: string, endpoints: readonly Endpoint[]): Promise<void> {
    await this.#call('PUT', `${slicesPath}/${service}`, slice(service, endpoints))
  }

  async createTlsSecret(name: string, { chain, key }: { readonly chain: string; readonly key: string }): Promise<void> {
    const encode = (text: string) => Buffer.from(text).toString('base64')
    const data = { 'tls.crt': encode(chain), 'tls.key': encode(key) }
    const secret = { apiVersion: 'v1', kind: 'Secret', type: 'kubernetes.io/tls', metadata: { name }, data }
    await this.#call('POST', `/api/v1/namespaces/${namespace}/secrets`, secret)
  }

  async createIngress(name: string, paths: readonly RulePath[], tls: readonly object[] = []): Promise<void> {
    await this.#call('POST', ingressesPath, ingress(name, paths, tls))
  }

  async replaceIngress(name: string, paths: readonly RulePath[]): Promise<void> {
    await this.#call('PUT', `${ingressesPath}/${name}`, ingress(name, paths, []))
  }

  close(): void {
    this.#connection.close()
  }

  async #call(method: string, path: string, object?: unknown): Promise<void> {
    const { code, body } = await this.#connection.call(method, path, object)
    if (code > 299) throw new Error(`${method} ${path} was answered with ${code}: ${body.message}`)
  }
}

function slice(service: string, endpoints: readonly Endpoint[]): object {
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: service, labels: { 'kubernetes.io/service-name': service } },
    addressType: 'IPv4',
    endpoints: endpoints.map(({ address }) => ({ addresses: [address], conditions: { ready: true } })),
    ports: [{ name: 'http', port: endpoints[0]?.port ?? 80, protocol: 'TCP' }],
  }
}

function ingress(name: string, paths: readonly RulePath[], tls: readonly object[]): object {
  const rules = paths.map(({ host, path, service }) => {
    const backend = { service: { name: service, port: { name: 'http' } } }
    return { host, http: { paths: [{ path, pathType: 'Prefix', backend }] } }
  })
  const spec = { ingressClassName: 'platnet', rules, tls }
  return { apiVersion: 'networking.k8s.io/v1', kind: 'Ingress', metadata: { name }, spec }
}
