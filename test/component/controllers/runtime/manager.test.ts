import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { z } from 'zod'
import type { ApiClient } from '../../../../src/client/index.ts'
import { Caches } from '../../../../src/controllers/runtime/caches.ts'
import { Controller, watchKeys } from '../../../../src/controllers/runtime/controller.ts'
import { ApiLeaseLock, type LeaseLock } from '../../../../src/controllers/runtime/lease-lock.ts'
import { ControllerManager } from '../../../../src/controllers/runtime/manager.ts'
import { metadataSchema } from '../../../../src/controllers/runtime/metadata.ts'
import { keyOf, resourceType, splitKey } from '../../../../src/controllers/runtime/resource-type.ts'
import type { Component } from '../../../../src/loop/component.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { startTestServer } from '../../../helpers/api-server.ts'
import { clientOfServer, freshControllerMetrics } from '../../../helpers/controllers.ts'
import { until, untilAsync } from '../../../helpers/until.ts'

const forever = { signal: new AbortController().signal }
const configMaps = resourceType(
  '',
  'v1',
  'configmaps',
  'ConfigMap',
  z.object({ metadata: metadataSchema, data: z.record(z.string(), z.string()).optional() }),
)

interface CopierOptions {
  readonly lock?: LeaseLock
  readonly identity?: string
}

/** Keeps one copy of every ConfigMap that asks for one; the server names the copies, so a second one would be easily made. */
function createCopier(client: ApiClient, { lock, identity = 'one' }: CopierOptions = {}) {
  const caches = new Caches({ client, log: silentLogger })
  const maps = caches.of(configMaps)
  const writer = caches.writer(configMaps)
  const copies = maps.addIndex(({ metadata }) => metadata.ownerReferences.map(({ uid }) => uid))
  const metrics = freshControllerMetrics()
  const controller = new Controller({
    name: 'copier',
    watches: [
      watchKeys(maps, (map) => [
        keyOf(map),
        ...(map.metadata.ownerReferences ?? []).map(({ name }) => `default/${name}`),
      ]),
    ],
    reconcile: async (key, { signal }) => {
      const original = maps.get(key)
      if (original?.metadata.labels?.['copy'] !== 'wanted') return undefined
      const { name, uid } = original.metadata
      const [copy, ...others] = copies.get(uid)
      for (const other of others) await writer.delete(other, signal)
      const fields = { data: original.data }
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }]
      if (!copy)
        await writer.create(
          { generateName: `${name}-`, namespace: splitKey(key).namespace, ownerReferences },
          fields,
          signal,
        )
      else if (copy.data?.['value'] !== original.data?.['value']) await writer.update(copy.metadata, fields, signal)
      return undefined
    },
    metrics,
    log: silentLogger,
  })
  const manager = new ControllerManager({
    name: 'copier-manager',
    caches,
    controllers: [controller],
    ...(lock && { election: { lock, identity, timing: { leaseMs: 200, renewDeadlineMs: 150, retryMs: 20 } } }),
    metrics,
    log: silentLogger,
  })
  /** The ConfigMaps in the namespace of the test; the server has others of its own. */
  const own = () => Array.from(maps.list()).filter(({ metadata }) => metadata.namespace === 'default')
  return { manager, controller, own }
}

function original(name: string, value: string) {
  return { metadata: { name, labels: { copy: 'wanted' } }, data: { value } }
}

const path = '/api/v1/namespaces/default/configmaps'

describe('a controller', () => {
  test('brings about what is wanted, also of objects that were there before, and follows changes', async () => {
    await using server = await startTestServer()
    await server.call('POST', path, { body: original('a', '1') })
    const { manager, controller, own } = createCopier(clientOfServer(server))
    await manager.start(forever)
    await server.call('POST', path, { body: original('b', '1') })
    await until('both are copied', () => own().length === 4 && controller.isIdle)
    await server.call('PUT', `${path}/a`, { body: original('a', '2') })
    const values = () =>
      own()
        .map(({ data }) => data?.['value'])
        .sort()
    await until('the copy follows', () => controller.isIdle && values().join() === '1,1,2,2')
    assert.equal(manager.health().level, 'ok')
    await manager.stop(forever)
  })

  test('does not make a thing twice when changes come faster than the watch', async () => {
    await using server = await startTestServer()
    const { manager, controller, own } = createCopier(clientOfServer(server))
    await manager.start(forever)
    for (let round = 0; round < 10; round++) {
      await server.call(round === 0 ? 'POST' : 'PUT', round === 0 ? path : `${path}/a`, {
        body: original('a', String(round)),
      })
    }
    await until('it settles', () => controller.isIdle && own().length === 2)
    const { body } = await server.call('GET', path)
    assert.equal(body.items.length, 2)
    await manager.stop(forever)
  })

  test('starts again where it was after it was stopped', async () => {
    await using server = await startTestServer()
    const { manager, controller, own } = createCopier(clientOfServer(server))
    await manager.start(forever)
    await controller.stop(forever)
    await server.call('POST', path, { body: original('a', '1') })
    await until('the cache has it', () => own().length === 1)
    assert.equal(controller.health().level, 'unknown')
    await controller.start()
    await until('it is copied', () => own().length === 2)
    await manager.stop(forever)
  })
})

describe('two managers with one lease', () => {
  test('one leads; when it stops the other one takes over and corrects what changed meanwhile', async () => {
    await using server = await startTestServer()
    const client = clientOfServer(server)
    const createCandidate = (identity: string) => {
      const lock = new ApiLeaseLock(client, createDialect('kubernetes'), { namespace: 'kube-system', name: 'copier' })
      return createCopier(client, { lock, identity })
    }
    const [one, two] = [createCandidate('one'), createCandidate('two')]
    await one.manager.start(forever)
    await until('one leads', () => one.controller.health().level === 'ok')
    await two.manager.start(forever)
    await server.call('POST', path, { body: original('a', '1') })
    await until('it is copied', () => two.own().length === 2)
    assert.equal(two.controller.health().level, 'unknown', 'the other one does nothing')
    await one.manager.stop(forever)
    await server.call('POST', path, { body: original('b', '1') })
    await until('the other one copies', () => two.own().length === 4 && two.controller.isIdle)
    const lease = await server.call('GET', '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/copier')
    assert.equal(lease.body.spec.holderIdentity, 'two')
    assert.equal(lease.body.spec.leaseTransitions, 1)
    await two.manager.stop(forever)
  })
})

test('a controller that cannot end in time does not keep the manager from stopping', async () => {
  await using server = await startTestServer()
  const lock = new ApiLeaseLock(clientOfServer(server), createDialect('kubernetes'), {
    namespace: 'kube-system',
    name: 'x',
  })
  const stubborn: Component = {
    name: 'stubborn',
    start: async () => {},
    stop: async ({ signal }) => signal.throwIfAborted(),
    health: () => ({ level: 'ok', message: '', sinceMs: 0 }),
  }
  const manager = new ControllerManager({
    name: 'stubborn-manager',
    caches: new Caches({ client: clientOfServer(server), log: silentLogger }),
    controllers: [stubborn],
    election: { lock, identity: 'one' },
    metrics: freshControllerMetrics(),
    log: silentLogger,
  })
  await manager.start(forever)
  await untilAsync('it leads', async () => (await lock.read(forever.signal))?.spec.holderIdentity === 'one')
  await manager.stop(forever)
  assert.equal((await lock.read(forever.signal))?.spec.holderIdentity, '')
})
