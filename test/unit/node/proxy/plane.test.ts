import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import type { XorHash } from '../../../../src/model/xor-hash.ts'
import type { Ruleset, TableChange } from '../../../../src/netfilter/ruleset.ts'
import { createProxyMetrics, ProxyPlane } from '../../../../src/node/proxy/index.ts'
import type { WriteReport } from '../../../../src/node/rules/index.ts'
import { AppliedRevisions, LiveNodeState, type WatchedResource } from '../../../../src/node/state/index.ts'
import { readObject } from '../../../../src/node/state/stored-object.ts'
import { createMetrics, silentLogger } from '../../../../src/observe/index.ts'
import { until } from '../../../helpers/until.ts'
import { dialect, type WireFixture, wireService, wireSlice } from '../../../helpers/wire-objects.ts'

const report: WriteReport = { kind: 'written', bytes: 100, durationMs: 1, chainsSet: 1, chainsRemoved: 0, restores: 1 }

/** A kernel that remembers what it was given and refuses as often as it is told to. */
class FakeWriter {
  readonly syncs: XorHash[] = []
  readonly writes: (readonly TableChange[])[] = []
  refusals = 0

  async sync(_full: Ruleset, objects: XorHash): Promise<WriteReport> {
    this.syncs.push(objects)
    return this.#answer()
  }

  async write(changes: readonly TableChange[], _objects: XorHash): Promise<WriteReport> {
    this.writes.push(changes)
    return this.#answer()
  }

  #answer(): WriteReport {
    if (this.refusals === 0) return report
    this.refusals -= 1
    throw new Error('the lock is held by another program')
  }
}

class Node {
  readonly state = new LiveNodeState(silentLogger)
  readonly writer = new FakeWriter()
  readonly applied = new AppliedRevisions(this.state)
  readonly plane: ProxyPlane

  constructor() {
    this.applied.register('proxy')
    const metrics = createProxyMetrics(createMetrics())
    const settings = { nodeName: 'n1', family: 'IPv4' } as const
    this.plane = new ProxyPlane({ ...this, settings, metrics, log: silentLogger })
  }

  replace(resource: WatchedResource, ...objects: WireFixture[]): void {
    const parsed = objects.map((object) => readObject(resource, object, dialect))
    this.state.replace(resource, parsed, '10')
  }

  upsert(resource: WatchedResource, object: WireFixture): void {
    this.state.upsert(resource, readObject(resource, object, dialect))
  }

  listEverything(): void {
    this.replace('services', wireService('web', '1'), wireService('db', '2', { clusterIP: '10.96.0.11' }))
    this.replace('endpointslices', wireSlice('web-1', 'web', '3'))
    this.replace('endpoints')
  }

  appliedRevision(): number | undefined {
    return this.applied.report().planes['proxy']
  }
}

describe('the proxy plane', () => {
  let node: Node

  beforeEach(async () => {
    node = new Node()
    await node.plane.start()
  })

  afterEach(() => node.plane.stop({ signal: AbortSignal.timeout(1000) }))

  async function settle(revision: number): Promise<void> {
    await until(`revision ${revision} is applied`, () => node.appliedRevision() === revision)
  }

  test('writes nothing while a resource has not been listed', async () => {
    node.replace('services', wireService('web', '1'))
    node.replace('endpointslices', wireSlice('web-1', 'web', '3'))
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.deepEqual([node.writer.syncs.length, node.appliedRevision()], [0, 0])
    assert.equal(node.plane.health().level, 'unknown')
  })

  test('syncs once with everything, then writes only the chains of the Service that changed', async () => {
    node.listEverything()
    await settle(1)
    node.upsert('endpointslices', wireSlice('web-1', 'web', '11', { endpoints: [{ addresses: ['10.244.0.6'] }] }))
    await settle(2)
    assert.deepEqual([node.writer.syncs.length, node.writer.writes.length], [1, 1])
    const names = node.writer.writes[0]?.flatMap(({ table, set }) => [...set.keys()].map((name) => `${table} ${name}`))
    assert.equal(names?.length, 2, `the Service's chain and the new endpoint's: ${names}`)
    assert.ok(
      names?.every((name) => /^nat PLAT-(SVC|SEP)-/.test(name)),
      String(names),
    )
  })

  test('publishes a revision only after the write of it has succeeded, however often it is refused', async () => {
    node.writer.refusals = 2
    node.listEverything()
    await until('the first attempt was refused', () => node.plane.health().message.includes('lock is held'))
    assert.equal(node.appliedRevision(), 0)
    await settle(1)
    assert.equal(node.writer.syncs.length, 3)
    assert.equal(node.plane.health().level, 'ok')
  })

  test('a later failure degrades it, and what it could not write goes out with the next attempt', async () => {
    node.listEverything()
    await settle(1)
    node.writer.refusals = 1
    node.upsert('endpointslices', wireSlice('web-1', 'web', '11', { endpoints: [] }))
    await until('the write was refused', () => node.plane.health().level === 'degraded')
    await settle(2)
    assert.equal(node.plane.health().level, 'ok')
  })

  test('a change back to what is applied already is not written', async () => {
    node.listEverything()
    await settle(1)
    node.upsert('endpointslices', wireSlice('web-1', 'web', '11', { endpoints: [] }))
    node.upsert('endpointslices', wireSlice('web-1', 'web', '12'))
    await settle(3)
    assert.equal(node.writer.writes.length, 0)
  })

  test('tells what it serves and when it last synced', async () => {
    node.listEverything()
    await settle(1)
    const { services, objectsHash, lastSync } = node.plane.status()
    assert.equal(services, 2)
    assert.match(objectsHash ?? '', /^[0-9a-f]{16}\/3$/)
    assert.equal(lastSync?.bytes, 100)
  })
})
