import assert from 'node:assert/strict'
import type { TestServer } from './api-server.ts'

interface PodState {
  readonly app: string
  readonly ip: string
  readonly ready: boolean
  readonly leaving: boolean
}

interface ServiceState {
  readonly app: string
  readonly headless: boolean
  readonly publishNotReadyAddresses: boolean
  readonly targetPort: number | string
}

interface DeploymentState {
  readonly replicas: number
  readonly image: string
}

/** What a user wants of a cluster, as far as controllers are concerned. */
export class Cluster {
  readonly pods = new Map<string, PodState>()
  readonly services = new Map<string, ServiceState>()
  /** Hand-written Endpoints of Services without a selector. */
  readonly manual = new Map<string, readonly string[]>()
  readonly deployments = new Map<string, DeploymentState>()

  wantedWorkloads(): Readonly<Record<string, readonly string[]>> {
    const wanted = [...this.deployments].map(([name, { replicas, image }]) => [name, Array(replicas).fill(image)])
    return Object.fromEntries(wanted.filter(([, images]) => images?.length))
  }
}

const core = '/api/v1/namespaces/default'
const deployments = '/apis/apps/v1/namespaces/default/deployments'
const merge = { 'content-type': 'application/merge-patch+json' }
const apps = ['a', 'b', 'c']

/** Does at random what users and nodes do, and keeps account of it. */
export class UserOfCluster {
  readonly cluster = new Cluster()
  readonly #server: TestServer
  readonly #random: () => number

  constructor(server: TestServer, random: () => number) {
    this.#server = server
    this.#random = random
  }

  async prepare(): Promise<void> {
    await this.#call('POST', '/api/v1/nodes', {
      metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'east' } },
    })
    for (const name of ['m0', 'm1']) {
      await this.#call('POST', `${core}/services`, { metadata: { name }, spec: { ports: [{ port: 5432 }] } })
    }
  }

  /** Makes the same cluster anew. */
  async rebuild(cluster: Cluster): Promise<void> {
    await this.prepare()
    for (const [name, state] of cluster.services) await this.#putService(name, state)
    for (const [name, addresses] of cluster.manual) await this.#putManual(name, addresses)
    for (const [name, state] of cluster.pods) {
      await this.#createPod(name, state)
      if (state.leaving) await this.#call('DELETE', `${core}/pods/${name}`)
    }
  }

  async act(): Promise<void> {
    const actions = [
      () => this.#changeService(),
      () => this.#changePod(),
      () => this.#changePod(),
      () => this.#changePod(),
      () => this.#changeManual(),
      () => this.#changeDeployment(),
    ]
    await this.#pick(actions)()
  }

  #pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.#random() * items.length)]
    assert.ok(item !== undefined)
    return item
  }

  async #changeService(): Promise<void> {
    const name = this.#pick(['s0', 's1', 's2', 's3'])
    if (this.cluster.services.has(name) && this.#random() < 0.3) {
      await this.#call('DELETE', `${core}/services/${name}`)
      this.cluster.services.delete(name)
      return
    }
    const old = this.cluster.services.get(name)
    await this.#putService(name, {
      app: this.#pick(apps),
      headless: old?.headless ?? this.#random() < 0.3,
      publishNotReadyAddresses: this.#random() < 0.2,
      targetPort: this.#pick([8080, 'http', 'other']),
    })
  }

  async #putService(name: string, state: ServiceState): Promise<void> {
    const { app, headless, publishNotReadyAddresses, targetPort } = state
    const ports = [{ name: 'web', port: 80, targetPort, protocol: 'TCP' }]
    const spec = { selector: { app }, publishNotReadyAddresses, ports }
    const isThere = this.cluster.services.has(name)
    if (isThere) await this.#call('PATCH', `${core}/services/${name}`, { spec })
    else {
      const full = { ...spec, ...(headless && { clusterIP: 'None' }) }
      await this.#call('POST', `${core}/services`, { metadata: { name }, spec: full })
    }
    this.cluster.services.set(name, state)
  }

  async #changePod(): Promise<void> {
    const index = Math.floor(this.#random() * 24)
    const name = `p${index}`
    const old = this.cluster.pods.get(name)
    const chance = this.#random()
    if (old === undefined) {
      const ready = chance < 0.7
      await this.#createPod(name, { app: this.#pick(apps), ip: `10.244.0.${index + 1}`, ready, leaving: false })
    } else if (old.leaving || chance < 0.2) {
      await this.#call('DELETE', `${core}/pods/${name}?gracePeriodSeconds=0`)
      this.cluster.pods.delete(name)
    } else if (chance < 0.3) {
      await this.#call('DELETE', `${core}/pods/${name}`)
      this.cluster.pods.set(name, { ...old, leaving: true })
    } else if (chance < 0.5) {
      const app = this.#pick(apps)
      await this.#call('PATCH', `${core}/pods/${name}`, { metadata: { labels: { app } } })
      this.cluster.pods.set(name, { ...old, app })
    } else {
      await this.#tellReady(name, old.ip, !old.ready)
      this.cluster.pods.set(name, { ...old, ready: !old.ready })
    }
  }

  async #createPod(name: string, state: PodState): Promise<void> {
    const containers = [{ name: 'main', image: 'main', ports: [{ name: 'http', containerPort: 9090 }] }]
    const metadata = { name, labels: { app: state.app } }
    await this.#call('POST', `${core}/pods`, { metadata, spec: { nodeName: 'n1', containers } })
    await this.#tellReady(name, state.ip, state.ready)
    this.cluster.pods.set(name, state)
  }

  #tellReady(name: string, ip: string, ready: boolean): Promise<void> {
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }]
    const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions }
    return this.#call('PATCH', `${core}/pods/${name}/status`, { status })
  }

  async #changeManual(): Promise<void> {
    const name = this.#pick(['m0', 'm1'])
    if (this.cluster.manual.has(name) && this.#random() < 0.3) {
      await this.#call('DELETE', `${core}/endpoints/${name}`)
      this.cluster.manual.delete(name)
      return
    }
    const addresses = ['192.0.2.1', '192.0.2.2', '2001:db8::1'].filter(() => this.#random() < 0.6)
    await this.#putManual(name, addresses)
  }

  async #putManual(name: string, addresses: readonly string[]): Promise<void> {
    const subsets =
      addresses.length === 0 ? [] : [{ addresses: addresses.map((ip) => ({ ip })), ports: [{ port: 5432 }] }]
    const isThere = this.cluster.manual.has(name)
    if (isThere) await this.#call('PUT', `${core}/endpoints/${name}`, { metadata: { name }, subsets })
    else await this.#call('POST', `${core}/endpoints`, { metadata: { name }, subsets })
    this.cluster.manual.set(name, addresses)
  }

  async #changeDeployment(): Promise<void> {
    const name = this.#pick(['d0', 'd1'])
    if (this.cluster.deployments.has(name) && this.#random() < 0.2) {
      await this.#call('DELETE', `${deployments}/${name}`)
      this.cluster.deployments.delete(name)
      return
    }
    const state = { replicas: Math.floor(this.#random() * 5), image: this.#pick(['one', 'two', 'three']) }
    const labels = { runs: 'hollow', app: name }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: state.image }] } }
    const spec = { replicas: state.replicas, selector: { matchLabels: { app: name } }, template }
    if (this.cluster.deployments.has(name)) await this.#call('PATCH', `${deployments}/${name}`, { spec })
    else await this.#call('POST', deployments, { metadata: { name }, spec })
    this.cluster.deployments.set(name, state)
  }

  async #call(method: string, path: string, body?: object): Promise<void> {
    const headers = method === 'PATCH' ? { headers: merge } : {}
    const { code, text } = await this.#server.call(method, path, { ...(body && { body }), ...headers })
    assert.ok(code < 300, `${method} ${path}: ${code} ${text}`)
  }
}

/** By Service what its slices and its Endpoints say, wherever it stands; every slice must be in order. */
export async function describeEndpoints(server: TestServer): Promise<Readonly<Record<string, readonly string[]>>> {
  const slices = (await server.call('GET', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices')).body.items
  const endpoints = (await server.call('GET', `${core}/endpoints`)).body.items
  const lines: readonly Line[] = [...slices.flatMap(describeSlice), ...endpoints.flatMap(describeSubsets)]
  const groups = [...Map.groupBy(lines, ({ key }) => key)].sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(groups.map(([key, group]) => [key, group.flatMap(({ text }) => text ?? []).sort()]))
}

/** Without text it says only that there is something. */
interface Line {
  readonly key: string
  readonly text?: string
}

interface Port {
  readonly name?: string
  readonly port: number
}

const portTexts = (ports: readonly Port[] | null = []) => (ports ?? []).map(({ name, port }) => `${name ?? ''}:${port}`)

// biome-ignore lint/suspicious/noExplicitAny: a test looks into any slice
function describeSlice({ metadata, addressType, endpoints, ports }: any): readonly Line[] {
  const key = `slices ${metadata.labels['kubernetes.io/service-name']}`
  const list = endpoints ?? []
  assert.ok(list.length <= 100)
  const lines = list.map(({ addresses, conditions, nodeName, zone }: (typeof list)[number]) => {
    const { ready, serving, terminating } = conditions
    return {
      key,
      text: [addressType, addresses, ready, serving, terminating, nodeName, zone, portTexts(ports)].join(' '),
    }
  })
  return [{ key }, ...lines]
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into any Endpoints
function describeSubsets({ metadata, subsets }: any): readonly Line[] {
  const key = `endpoints ${metadata.name}`
  const lines = (subsets ?? []).flatMap(({ addresses, notReadyAddresses, ports }: (typeof subsets)[number]) => [
    ...(addresses ?? []).map(({ ip }: { ip: string }) => ({ key, text: `${ip} ready ${portTexts(ports)}` })),
    ...(notReadyAddresses ?? []).map(({ ip }: { ip: string }) => ({
      key,
      text: `${ip} not ready ${portTexts(ports)}`,
    })),
  ])
  return [{ key }, ...lines]
}

/** By Deployment the images of its pods that are ready; a pod without an owner has its own name as key. */
export async function describeWorkloads(server: TestServer): Promise<Readonly<Record<string, readonly string[]>>> {
  const { items } = (await server.call('GET', `${core}/pods?labelSelector=runs%3Dhollow`)).body
  const result = new Map<string, string[]>()
  for (const { metadata, spec, status } of items) {
    const isReady = (status.conditions ?? []).some(
      ({ type, status: value }: Condition) => type === 'Ready' && value === 'True',
    )
    const owner = isReady ? metadata.labels.app : metadata.name
    result.set(owner, [...(result.get(owner) ?? []), spec.containers[0].image])
  }
  return Object.fromEntries(result)
}

interface Condition {
  readonly type: string
  readonly status: string
}
