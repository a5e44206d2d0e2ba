import type { ConsoleSource } from '../../src/console/index.ts'
import { nodeCharts } from '../../src/console/index.ts'
import type { Endpoint, EndpointSlice } from '../../src/model/endpoint-slice.ts'
import { type Ip, parseIp } from '../../src/model/ip.ts'
import type { Service } from '../../src/model/service.ts'
import { type MetricSample, silentLogger } from '../../src/observe/index.ts'

/** What a browser would run if a name became markup. */
export const hostile = '<img src=x onerror="document.title=\'taken\'"><script>document.title="taken"</script>'

type ServiceChange = { readonly services: ReadonlySet<string> }

/** Services in memory that a test changes as it likes. */
export class FakeServices {
  synced = true
  readonly #services = new Map<string, { readonly service: Service; readonly slices: readonly EndpointSlice[] }>()
  readonly #listeners = new Set<(change: ServiceChange) => void>()

  get listeners(): number {
    return this.#listeners.size
  }

  serviceKeys(): Iterable<string> {
    return this.#services.keys()
  }

  service(key: string): Service | undefined {
    return this.#services.get(key)?.service
  }

  slicesOf(key: string): readonly EndpointSlice[] {
    return this.#services.get(key)?.slices ?? []
  }

  subscribe(listener: (change: ServiceChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  put(service: Service, endpoints: readonly Endpoint[]): void {
    this.#services.set(service.key, { service, slices: [sliceOf(service, endpoints)] })
  }

  remove(key: string): void {
    this.#services.delete(key)
  }

  tell(...keys: readonly string[]): void {
    for (const listener of this.#listeners) listener({ services: new Set(keys) })
  }
}

function ip(text: string): Ip {
  const address = parseIp(text)
  if (address === undefined) throw new Error(`${text} is no address`)
  return address
}

/** The Service number `index`, with a port and a cluster IP. */
export function serviceAt(index: number, changes: Partial<Service> = {}): Service {
  const name = `web-${String(index).padStart(5, '0')}`
  return {
    key: `default/${name}`,
    namespace: 'default',
    name,
    type: 'ClusterIP',
    clusterIps: [ip(`10.96.${index >> 8}.${index & 255}`)],
    headless: false,
    ports: [{ name: '', protocol: 'TCP', port: 80 }],
    externalIps: [],
    loadBalancerVips: [],
    externalTrafficPolicy: 'Cluster',
    internalTrafficPolicy: 'Cluster',
    publishNotReadyAddresses: false,
    ...changes,
  }
}

export function endpointAt(address: string, changes: Partial<Endpoint> = {}): Endpoint {
  return { address: ip(address), ready: true, serving: true, terminating: false, nodeName: 'node-1', ...changes }
}

export function sliceOf({ key, ports }: Service, endpoints: readonly Endpoint[]): EndpointSlice {
  return {
    source: `endpointslices/${key}-1`,
    service: key,
    family: 'IPv4',
    ports: ports.map(({ name, protocol }) => ({ name, protocol, port: 8080 })),
    endpoints,
  }
}

/** Puts that many Services with two endpoints each; one in ten has an endpoint that is not ready. */
export function putMany(services: FakeServices, count: number): void {
  for (let index = 0; index < count; index++) {
    const pods = [0, 1].map((pod) => {
      const ready = pod === 0 || index % 10 !== 3
      return endpointAt(`10.244.${(index >> 7) & 255}.${2 * (index & 127) + pod}`, { ready, serving: ready })
    })
    services.put(serviceAt(index), pods)
  }
}

interface SourceChanges extends Partial<ConsoleSource> {
  readonly documents?: Readonly<Record<string, () => unknown>>
}

/** A source for a console: `opened` and `closed` count. */
export function fakeSource(services: FakeServices, { documents = {}, ...changes }: SourceChanges = {}) {
  const counts = { opened: 0, closed: 0 }
  let reads = 0
  const source: ConsoleSource = {
    scope: 'node',
    title: 'node-1',
    version: '0.0.0',
    links: [{ label: 'Cluster', port: 10252 }],
    charts: nodeCharts,
    read: async (names) => {
      reads += 1
      return names.flatMap((name) => samplesOf(name, reads))
    },
    open: async () => {
      counts.opened += 1
      return {
        services,
        documents,
        close: async () => {
          counts.closed += 1
        },
      }
    },
    questions: {},
    log: silentLogger,
    ...changes,
  }
  return { source, counts }
}

/** Figures that move: totals grow with each read. */
function samplesOf(name: string, reads: number): readonly MetricSample[] {
  const wave = 40 + 30 * Math.sin(reads / 6)
  const labels: readonly Readonly<Record<string, string>>[] = [
    { rcode: 'NOERROR', direction: 'ingress', code: '200' },
    { rcode: 'NXDOMAIN', direction: 'egress', code: '404' },
    { rcode: 'SERVFAIL', direction: 'none', code: '503' },
  ]
  if (name.endsWith('_bytes')) return [{ name, labels: {}, value: 96 * 2 ** 20 + wave * 2 ** 14 }]
  if (!name.endsWith('_seconds'))
    return labels.map((each, index) => ({ name, labels: each, value: (reads * wave) / (1 + 8 * index) }))
  const count = reads * 10
  const buckets = [0.001, 0.004, 0.016, Number.POSITIVE_INFINITY].map((bound, index) => ({
    name: `${name}_bucket`,
    labels: { le: bound === Number.POSITIVE_INFINITY ? '+Inf' : String(bound) },
    value: Math.round((count * (index + 5)) / 8),
  }))
  return [
    ...buckets,
    { name: `${name}_sum`, labels: {}, value: count * 0.003 },
    { name: `${name}_count`, labels: {}, value: count },
  ]
}
