import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { AdminConnection } from '../../helpers/admin-connection.ts'
import { findFreePort, PlatnetServer } from '../../helpers/platnet-server.ts'
import { until } from '../../helpers/until.ts'

const pods = 5_000
const changes = 20
const deadlineMs = 240_000
const core = '/api/v1/namespaces/default'
const slices =
  '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?watch=true&labelSelector=kubernetes.io/service-name%3Dlarge'

/** The slices of one Service as a watch tells of them. */
class SliceWatch {
  readonly #slices = new Map<string, ReadonlyMap<string, boolean>>()
  /** Events of all kinds: each is one write. */
  writes = 0
  largest = 0

  async follow(response: IncomingMessage): Promise<void> {
    for await (const line of createInterface({ input: response })) this.#take(JSON.parse(line))
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

  isReady(pod: string): boolean | undefined {
    return this.#slices
      .values()
      .find((endpoints) => endpoints.has(pod))
      ?.get(pod)
  }

  get areAllReady(): boolean {
    return this.#slices.values().every((endpoints) => endpoints.values().every(Boolean))
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test looks into any event
  #take({ type, object }: { type: string; object: any }): void {
    this.writes += 1
    const { name } = object.metadata
    const endpoints: { targetRef: { name: string }; conditions: { ready: boolean } }[] = object.endpoints ?? []
    this.largest = Math.max(this.largest, endpoints.length)
    if (type === 'DELETED') this.#slices.delete(name)
    else
      this.#slices.set(name, new Map(endpoints.map(({ targetRef, conditions }) => [targetRef.name, conditions.ready])))
  }
}

describe(`a Service whose ${pods} pods appear, change and vanish`, () => {
  let server: PlatnetServer
  let admin: AdminConnection
  let watch: IncomingMessage
  const seen = new SliceWatch()

  before(async () => {
    const port = await findFreePort()
    // Without the Endpoints, whose one object of 1,000 addresses is written anew each time.
    const flags = [
      '--components=api,controllers',
      '--controllers=endpointslice',
      '--dialect=kubernetes',
      `--controller-manager-port=${await findFreePort()}`,
    ]
    server = new PlatnetServer(mkdtempSync(join(tmpdir(), 'plt-test-')), port, {}, flags)
    admin = new AdminConnection(await server.start(), 16)
    watch = await admin.open('GET', slices)
    void seen.follow(watch).catch(() => {})
    await admin.send('POST', '/api/v1/nodes', JSON.stringify({ metadata: { name: 'n1' } }))
    const spec = { selector: { app: 'large' }, ports: [{ port: 80 }] }
    await admin.send('POST', `${core}/services`, JSON.stringify({ metadata: { name: 'large' }, spec }))
  })
  after(async () => {
    watch?.destroy()
    admin?.close()
    await server?.stop('SIGKILL')
    if (server !== undefined) rmSync(server.dataDir, { recursive: true, force: true })
  })

  test('no slice ever holds more than 100, and no pod is in two', async () => {
    await forEachPod((index) => createPod(admin, index))
    await until('all pods are ready in slices', () => seen.endpointCount === pods && seen.areAllReady, deadlineMs)
    assert.equal(seen.podsSeen.size, pods)
    assert.ok(seen.sliceCount >= pods / 100)
    assert.ok(seen.largest <= 100, `one held ${seen.largest}`)
    assert.ok(
      seen.writes <= 2 * pods + seen.sliceCount,
      `${seen.writes} writes for ${pods} pods that came and became ready`,
    )
  })

  test('each change of an endpoint is one write of one slice', async () => {
    const before = seen.writes
    for (let change = 0; change < changes; change++) {
      const pod = `pod-${(change * 83) % pods}`
      await setReady(admin, pod, false)
      await until(`${pod} is seen not ready`, () => seen.isReady(pod) === false, deadlineMs)
    }
    assert.equal(seen.writes - before, changes)
  })

  test('when all are gone one empty slice remains', async () => {
    const before = seen.writes
    await forEachPod((index) => admin.send('DELETE', `${core}/pods/pod-${index}?gracePeriodSeconds=0`))
    await until('no endpoint is left', () => seen.endpointCount === 0 && seen.sliceCount === 1, deadlineMs)
    assert.ok(seen.largest <= 100, `one held ${seen.largest}`)
    assert.ok(seen.writes - before <= pods + 100, `${seen.writes - before} writes for ${pods} pods that went`)
  })
})

async function forEachPod(work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < pods) await work(next++)
  }
  await Promise.all(Array.from({ length: 12 }, worker))
}

async function createPod(admin: AdminConnection, index: number): Promise<void> {
  const name = `pod-${index}`
  const spec = { nodeName: 'n1', containers: [{ name: 'main', image: 'main' }] }
  await admin.send('POST', `${core}/pods`, JSON.stringify({ metadata: { name, labels: { app: 'large' } }, spec }))
  const ip = `10.244.${index >> 8}.${index & 255}`
  await setStatus(admin, name, { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions: [ready(true)] })
}

function setReady(admin: AdminConnection, pod: string, isReady: boolean): Promise<unknown> {
  return setStatus(admin, pod, { conditions: [ready(isReady)] })
}

function setStatus(admin: AdminConnection, pod: string, status: object): Promise<unknown> {
  return admin.send('PATCH', `${core}/pods/${pod}/status`, JSON.stringify({ status }))
}

function ready(isReady: boolean) {
  return { type: 'Ready', status: isReady ? 'True' : 'False' }
}
