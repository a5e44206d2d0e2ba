import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type ApiClient, type ApiResource, Informer, type InformerHandler } from '../../src/client/index.ts'
import { silentLogger } from '../../src/observe/index.ts'
import { until } from './until.ts'

const core = (resource: string): ApiResource => ({ group: '', version: 'v1', resource })
const pods = core('pods')
const sliceResource = { group: 'discovery.k8s.io', version: 'v1', resource: 'endpointslices' }
const namespace = 'default'
/** One Endpoints object holds no more: the first of them in the order of their text. */
const maxAddresses = 1000
const deadlineMs = 240_000

export interface ManyPods {
  readonly pods: number
  /** Of single pods, one after the other. */
  readonly changes: number
  /** An API server with all controllers, where a node without heartbeats is not lost while this runs. */
  readonly start: () => Promise<{ readonly client: ApiClient; readonly stop: () => Promise<void> }>
}

/** What a watch tells of one Service's slices. */
class SliceRecord implements InformerHandler {
  readonly #slices = new Map<string, ReadonlyMap<string, boolean>>()
  /** Events of all kinds: each is one write. */
  writes = 0
  largest = 0

  onReplace(): void {}
  onProgress(): void {}

  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any object
  onEvent(type: string, object: any): void {
    if (!object.metadata.name.startsWith('large-')) return
    this.writes += 1
    const endpoints: { targetRef: { name: string }; conditions: { ready: boolean } }[] = object.endpoints ?? []
    this.largest = Math.max(this.largest, endpoints.length)
    const readiness = new Map(endpoints.map(({ targetRef, conditions }) => [targetRef.name, conditions.ready]))
    if (type === 'DELETED') this.#slices.delete(object.metadata.name)
    else this.#slices.set(object.metadata.name, readiness)
  }

  get sliceCount(): number {
    return this.#slices.size
  }

  /** A pod in two slices counts twice. */
  get endpointCount(): number {
    return this.#slices.values().reduce((sum, { size }) => sum + size, 0)
  }

  get podsSeen(): ReadonlySet<string> {
    return new Set(this.#slices.values().flatMap((endpoints) => endpoints.keys()))
  }

  get areAllReady(): boolean {
    return this.#slices.values().every((endpoints) => endpoints.values().every(Boolean))
  }

  isReady(pod: string): boolean | undefined {
    return this.#slices
      .values()
      .find((endpoints) => endpoints.has(pod))
      ?.get(pod)
  }
}

/** What a watch tells of its Endpoints. */
class EndpointsRecord implements InformerHandler {
  /** The pods among its ready addresses. */
  ready: ReadonlySet<string> = new Set()
  writes = 0

  onReplace(): void {}
  onProgress(): void {}

  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any object
  onEvent(_type: string, { metadata, subsets = [] }: any): void {
    if (metadata.name !== 'large') return
    this.writes += 1
    const addresses: { targetRef: { name: string } }[] = subsets.flatMap(
      (subset: { addresses?: [] }) => subset.addresses ?? [],
    )
    this.ready = new Set(addresses.map(({ targetRef }) => targetRef.name))
  }
}

/** One Service with many pods, over HTTP: how large its slices grow, and how often they and its Endpoints are written. */
export function describeManyPods({ pods: count, changes, start }: ManyPods): void {
  describe(`a Service whose ${count} pods appear, change and vanish, with all controllers`, () => {
    const slices = new SliceRecord()
    const endpoints = new EndpointsRecord()
    const byAddress = Array.from({ length: count }, (_, index) => index).sort((a, b) => (ipOf(a) < ipOf(b) ? -1 : 1))
    const kept = new Set(byAddress.slice(0, maxAddresses).map(nameOf))
    let running: Awaited<ReturnType<typeof start>>
    let informers: readonly Informer[] = []

    before(async () => {
      running = await start()
      const { client } = running
      const follow = (resource: ApiResource, handler: InformerHandler) =>
        new Informer({ client, collection: { resource, namespace }, handler, log: silentLogger })
      informers = [follow(sliceResource, slices), follow(core('endpoints'), endpoints)]
      await Promise.all(informers.map((informer) => informer.start({ signal: AbortSignal.timeout(deadlineMs) })))
      await createNode(client)
      const spec = { selector: { app: 'large' }, ports: [{ port: 80 }] }
      const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'large' }, spec }
      await client.create({ resource: core('services'), namespace }, service)
      await until('an empty slice and Endpoints are there', () => slices.writes === 1 && endpoints.writes === 1, 30_000)
    })
    after(async () => {
      await Promise.all(informers.map((informer) => informer.stop()))
      await running?.stop()
    })

    test('no slice ever holds more than 100, no pod is in two, and Endpoints have the first 1,000', async () => {
      await forEachPod(count, (index) => createPod(running.client, index))
      await until('all are ready in slices', () => slices.endpointCount === count && slices.areAllReady, deadlineMs)
      await until('the Endpoints are full', () => endpoints.ready.symmetricDifference(kept).size === 0, deadlineMs)
      assert.equal(slices.podsSeen.size, count)
      assert.ok(slices.sliceCount >= count / 100)
      assert.ok(slices.largest <= 100, `one held ${slices.largest}`)
      const most = 2 * count + slices.sliceCount
      assert.ok(slices.writes <= most, `${slices.writes} writes for ${count} pods that came and became ready`)
      assert.ok(endpoints.writes <= most, `${endpoints.writes} writes of Endpoints for ${count} pods`)
    })

    test('each change of an endpoint is one write of one slice and one of the Endpoints', async () => {
      const before = { slices: slices.writes, endpoints: endpoints.writes }
      for (let change = 0; change < changes; change++) {
        // Among the first of Endpoints that leave some out.
        const pod = nameOf((change * 83) % Math.min(count, 500))
        await setStatus(running.client, pod, { conditions: [ready(false)] })
        const isSeen = () => slices.isReady(pod) === false && !endpoints.ready.has(pod)
        await until(`${pod} is seen not ready`, isSeen, deadlineMs)
      }
      assert.deepEqual(
        { slices: slices.writes - before.slices, endpoints: endpoints.writes - before.endpoints },
        { slices: changes, endpoints: changes },
      )
    })

    test('when all are gone one empty slice remains', async () => {
      const before = slices.writes
      await forEachPod(count, (index) =>
        running.client.delete({ resource: pods, namespace, name: nameOf(index) }, { graceSeconds: 0 }),
      )
      await until('no endpoint is left', () => slices.endpointCount === 0 && slices.sliceCount === 1, deadlineMs)
      await until('the Endpoints are empty', () => endpoints.ready.size === 0, deadlineMs)
      assert.ok(slices.largest <= 100, `one held ${slices.largest}`)
      assert.ok(slices.writes - before <= count + 100, `${slices.writes - before} writes for ${count} pods that went`)
    })
  })
}

async function forEachPod(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: 12 }, worker))
}

function nameOf(index: number): string {
  return `pod-${index}`
}

function ipOf(index: number): string {
  return `10.244.${index >> 8}.${index & 255}`
}

/** With a heartbeat, so that the grace period of nodes holds for it. */
async function createNode(client: ApiClient): Promise<void> {
  const metadata = { name: 'n1' }
  const condition = { ...ready(true), lastHeartbeatTime: new Date().toISOString() }
  await client.create({ resource: core('nodes') }, { apiVersion: 'v1', kind: 'Node', metadata })
  const patch = { kind: 'merge', patch: { status: { conditions: [condition] } } } as const
  await client.patch({ resource: core('nodes'), name: 'n1', subresource: 'status' }, patch)
}

async function createPod(client: ApiClient, index: number): Promise<void> {
  const metadata = { name: nameOf(index), labels: { app: 'large' } }
  const spec = { nodeName: 'n1', containers: [{ name: 'main', image: 'main' }] }
  await client.create({ resource: pods, namespace }, { apiVersion: 'v1', kind: 'Pod', metadata, spec })
  const ip = ipOf(index)
  await setStatus(client, nameOf(index), { phase: 'Running', podIPs: [{ ip }], conditions: [ready(true)] })
}

function setStatus(client: ApiClient, name: string, status: object): Promise<unknown> {
  const patch = { kind: 'merge', patch: { status } } as const
  return client.patch({ resource: pods, namespace, name, subresource: 'status' }, patch)
}

function ready(isReady: boolean) {
  return { type: 'Ready', status: isReady ? 'True' : 'False' }
}
