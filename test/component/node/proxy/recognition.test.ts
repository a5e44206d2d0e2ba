import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proxyQuestions } from '../../../../src/app/composition/proxy-questions.ts'
import type { Ip } from '../../../../src/model/ip.ts'
import type { XorHash } from '../../../../src/model/xor-hash.ts'
import { type Node, newNode } from '../../../helpers/plane-fixture.ts'
import { until } from '../../../helpers/until.ts'
import { wireService, wireSlice } from '../../../helpers/wire-objects.ts'

type Test = Parameters<typeof newNode>[0]
type Settings = Parameters<typeof newNode>[1]

/** What an agent that wrote everything leaves in PLAT-STATE. */
async function leaveStamp(t: Test, settings: Settings = {}, list = (node: Node) => node.listEverything()) {
  const node = newNode(t, settings)
  await node.plane.start()
  list(node)
  await until('all is applied', () => node.appliedRevision() === 1)
  return node.writer.syncs.at(-1)
}

/** An agent that starts anew and whose comparison does not get through before `open` is called. */
async function restart(t: Test, stamp: XorHash | undefined, settings: Settings = {}) {
  const node = newNode(t, settings)
  const gate = Promise.withResolvers<void>()
  t.after(() => gate.resolve())
  node.writer.stamp = stamp
  node.writer.gate = gate.promise
  await node.plane.start()
  node.listEverything()
  await until('it compares', () => node.writer.syncs.length === 1)
  return { node, open: () => gate.resolve() }
}

/** Returns what `platnet explain` prints for a connection to a Service. */
async function explain({ plane }: Node) {
  const rules = { writer: { preview: async () => [] } }
  const query = new URLSearchParams({ source: '10.244.0.9', destination: '10.96.0.10', port: '80' })
  return proxyQuestions({ families: [{ plane, rules }] })['/explain/flow'](query)
}

test('a restart that finds the same in PLAT-STATE is ready before any rule is compared', async (t) => {
  const { node, open } = await restart(t, await leaveStamp(t))
  assert.deepEqual([node.appliedRevision(), node.plane.view.isPlanning, node.plane.health().level], [1, true, 'ok'])
  assert.match(node.plane.health().message, /a comparison follows/)
  assert.deepEqual(node.settled, [['default/web', 'default/db']])
  assert.equal((await explain(node)).status, 503)
  open()
  await until('it has compared', () => !node.plane.view.isPlanning)
  assert.equal((await explain(node)).status, 200)
  await until('it says so', () => node.plane.health().message.endsWith('are in the kernel'))
  assert.deepEqual(node.writer.endpoints(), ['10.244.0.5'])
  assert.equal(node.settled.length, 1, 'removed endpoints are searched for once')
})

const others: readonly {
  readonly title: string
  readonly settings?: Settings
  readonly list?: (node: Node) => void
}[] = [
  { title: 'a setting', settings: { masqueradeAll: true } },
  { title: 'an address of the node', settings: { nodeIps: ['192.0.2.9' as Ip] } },
  { title: 'the zone of the node', settings: { zone: 'a' } },
  { title: 'the pod network', settings: { localTraffic: { kind: 'interface', name: 'cni0', isPrefix: false } } },
  {
    title: 'an endpoint',
    list: (node) => {
      node.replace('services', wireService('web', '1'), wireService('db', '2', { clusterIP: '10.96.0.11' }))
      node.replace('endpointslices', wireSlice('web-1', 'web', '3', { endpoints: [] }))
      node.replace('endpoints')
    },
  },
]

for (const { title, settings, list } of others) {
  test(`a restart is not ready before its rules are compared where ${title} was another`, async (t) => {
    const { node, open } = await restart(t, await leaveStamp(t, settings, list))
    assert.deepEqual([node.appliedRevision(), node.plane.health().level], [0, 'unknown'])
    open()
    await until('all is applied', () => node.appliedRevision() === 1)
    assert.deepEqual(node.settled, [['default/web', 'default/db']])
  })
}

test('what changes before a restart has compared its rules is written after them, and not called applied before', async (t) => {
  const { node, open } = await restart(t, await leaveStamp(t))
  const endpoints = [{ addresses: ['10.244.0.6'] }]
  node.upsert('endpointslices', wireSlice('web-1', 'web', '11', { endpoints }))
  node.upsert('services', wireService('new', '12', { clusterIP: '10.96.0.12' }))
  node.upsert('endpointslices', wireSlice('new-1', 'new', '13', { endpoints: [{ addresses: ['10.244.0.7'] }] }))
  assert.equal(node.appliedRevision(), 1)
  open()
  await until('all is applied', () => node.appliedRevision() === 4)
  assert.deepEqual(node.writer.endpoints(), ['10.244.0.6', '10.244.0.7'])
  assert.deepEqual([node.writer.syncs.length, node.writer.writes.length], [1, 1])
  assert.deepEqual(node.settled.slice(1).flat().sort(), ['default/new', 'default/web'])
})

test('a comparison that fails after a restart was ready is made again, and degrades it meanwhile', async (t) => {
  const { node, open } = await restart(t, await leaveStamp(t))
  node.writer.refusals = 1
  open()
  await until('it has failed', () => node.plane.health().level === 'degraded')
  await until('it is made', () => !node.plane.view.isPlanning)
  await until('it is well', () => node.plane.health().level === 'ok')
  assert.deepEqual([node.writer.syncs.length, node.appliedRevision()], [2, 1])
})
