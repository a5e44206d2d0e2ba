import { AdminConnection } from '../../test/helpers/admin-connection.ts'
import type { AdminAccess } from '../../test/helpers/platnet-server.ts'

export interface Size {
  readonly services: number
  readonly endpoints: number
}

const services = '/api/v1/namespaces/default/services'
const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices'
const clients = 16

export function clusterIp(service: number): string {
  return `10.${97 + (service >> 16)}.${(service >> 8) & 255}.${service & 255}`
}

/** `generation` 0 is what the Service begins with. */
export function endpointAddress(service: number, endpoint: number, generation = 0): string {
  return `10.${128 + endpoint + 8 * generation}.${service >> 8}.${service & 255}`
}

/** The cluster of one size, as its administrator makes it. */
export class BenchCluster {
  readonly #connection: AdminConnection
  readonly size: Size

  constructor(access: AdminAccess, size: Size) {
    this.#connection = new AdminConnection(access, clients)
    this.size = size
  }

  async create(): Promise<void> {
    for (const name of ['platnet', 'kube-proxy']) {
      await this.#post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name } })
      await this.#setNodeAddress(name)
    }
    const numbers = Array.from({ length: this.size.services }, (_, index) => index).values()
    const client = async () => {
      for (const number of numbers) {
        await this.#post(services, service(number))
        await this.#post(slices, this.#slice(number, 0))
      }
    }
    await Promise.all(Array.from({ length: clients }, client))
  }

  /** Replaces the first endpoint of a Service; resolves at the API's answer. */
  changeFirstEndpoint(number: number, generation: number): Promise<void> {
    return this.#put(number, this.#slice(number, generation))
  }

  /** Takes one endpoint of a Service away, or none: then all are back. */
  leaveOutEndpoint(number: number, endpoint: number | undefined): Promise<void> {
    return this.#put(number, this.#slice(number, 0, endpoint))
  }

  async resourceVersion(resource: 'services' | 'endpointslices'): Promise<string> {
    const { body } = await this.#connection.call('GET', `${resource === 'services' ? services : slices}?limit=1`)
    return body.metadata.resourceVersion
  }

  close(): void {
    this.#connection.close()
  }

  async #put(number: number, slice: unknown): Promise<void> {
    const { code, body } = await this.#connection.call('PUT', `${slices}/${name(number)}`, slice)
    if (code !== 200) throw new Error(`a change was answered with ${code}: ${body.message}`)
  }

  async #post(path: string, object: unknown): Promise<void> {
    const { code, body } = await this.#connection.call('POST', path, object)
    if (code !== 201) throw new Error(`a create was answered with ${code}: ${body.message}`)
  }

  async #setNodeAddress(node: string): Promise<void> {
    const status = { addresses: [{ type: 'InternalIP', address: '198.51.100.2' }] }
    await this.#connection.call('PATCH', `/api/v1/nodes/${node}/status`, { status })
  }

  #slice(number: number, generation: number, leftOut?: number): unknown {
    const endpoints = Array.from({ length: this.size.endpoints }, (_, index) => ({
      addresses: [endpointAddress(number, index, index === 0 ? generation : 0)],
      conditions: { ready: true, serving: true, terminating: false },
    })).filter((_, index) => index !== leftOut)
    return {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: name(number), labels: { 'kubernetes.io/service-name': name(number) } },
      addressType: 'IPv4',
      ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
      endpoints,
    }
  }
}

function service(number: number): unknown {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: name(number) },
    spec: {
      clusterIP: clusterIp(number),
      ports: [{ name: 'http', protocol: 'TCP', port: 80, targetPort: 8080 }],
    },
  }
}

const name = (number: number) => `web-${number}`
