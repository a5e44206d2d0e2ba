import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Node, newNode } from '../../../helpers/plane-fixture.ts'
import { until } from '../../../helpers/until.ts'
import { wireService, wireSlice } from '../../../helpers/wire-objects.ts'

const in20Seconds = () => ({ signal: AbortSignal.timeout(20_000) })
const large = { ports: 40, endpoints: 100 }

function listSmall(node: Node): void {
  node.replace('services', wireService('small', '1', { clusterIP: '10.96.0.1' }))
  node.replace('endpointslices', wireSlice('small-1', 'small', '2'))
  node.replace('endpoints')
}

function makeLarge(version: string, { ports, endpoints }: typeof large) {
  const names = Array.from({ length: ports }, (_, index) => `p${index}`)
  const servicePorts = names.map((name, index) => ({ name, port: 1000 + index, protocol: 'TCP' }))
  const slicePorts = names.map((name, index) => ({ name, port: 2000 + index, protocol: 'TCP' }))
  const addresses = Array.from({ length: endpoints }, (_, index) => ({ addresses: [`10.245.0.${index}`] }))
  return {
    service: wireService('large', `${version}1`, { clusterIP: '10.96.0.2', ports: servicePorts }),
    slice: wireSlice('large-1', 'large', version, { ports: slicePorts, endpoints: addresses }),
  }
}

function addLarge(node: Node, version: string, size = large): void {
  const { service, slice } = makeLarge(version, size)
  node.upsert('endpointslices', slice)
  node.upsert('services', service)
}

function whoIsBehind(node: Node, version: string): { readonly isOver: () => boolean } {
  let over = false
  void node.applied.waitUntilApplied('endpointslices', version, in20Seconds()).then(() => {
    over = true
  })
  return { isOver: () => over }
}

test('a large Service is written in turns, and the change of another Service is applied between them', async (t) => {
  const node = newNode(t)
  await node.plane.start()
  listSmall(node)
  await until('the first sync is made', () => node.appliedRevision() === 1)
  addLarge(node, '100')
  const ofLarge = whoIsBehind(node, '100')
  await until('a first part of it is written', () => node.writer.writes.length > 0)
  node.upsert('endpointslices', wireSlice('small-1', 'small', '300', { endpoints: [{ addresses: ['10.244.0.9'] }] }))
  await node.applied.waitUntilApplied('endpointslices', '300', in20Seconds())
  assert.ok(node.writer.endpoints().includes('10.244.0.9'))
  assert.equal(ofLarge.isOver(), false, 'a wait for the large Service goes on')
  assert.equal(node.plane.view.status().waiting, 1)
  assert.notEqual(node.plane.view.freshness().pendingSinceMs, undefined)
  await until('all of it is written', () => ofLarge.isOver())
  assert.equal(node.writer.endpoints().length, large.ports * large.endpoints + 1)
  assert.equal(node.appliedRevision(), node.state.revision)
  assert.deepEqual([node.plane.view.status().waiting, node.plane.view.freshness().pendingSinceMs], [0, undefined])
})

test('what is half written when a Service changes again or goes leaves nothing behind', async (t) => {
  const node = newNode(t)
  await node.plane.start()
  listSmall(node)
  await until('the first sync is made', () => node.appliedRevision() === 1)
  addLarge(node, '100')
  await until('a first part of it is written', () => node.writer.writes.length > 0)
  addLarge(node, '200', { ports: 40, endpoints: 90 })
  await until('more of it is written', () => node.writer.writes.length > 1)
  node.state.remove('services', 'default/large', '300')
  await until('all is written', () => node.appliedRevision() === node.state.revision)
  assert.deepEqual(node.writer.endpoints(), ['10.244.0.5'])
  assert.deepEqual(
    [...new Set(node.overtaken.flat())],
    ['default/large'],
    'flows to the endpoints of parts are searched',
  )
  assert.deepEqual(node.settled.at(-1), ['default/large'])
})

test('as long as not all is written no restart takes the rules for those of the objects', async (t) => {
  const node = newNode(t)
  await node.plane.start()
  listSmall(node)
  await until('the first sync is made', () => node.appliedRevision() === 1)
  addLarge(node, '100')
  await until('all is written', () => node.appliedRevision() === node.state.revision)
  const stamps = node.writer.stamps.map(({ value, count }) => `${value}/${count}`)
  assert.equal(stamps.indexOf(stamps.at(-1) ?? ''), stamps.length - 1, 'the last stamp stands on no earlier turn')
  assert.ok(stamps.length > 2)
})

test('where no packet meets rules of ours yet, a large Service does not keep the first sync waiting', async (t) => {
  const node = newNode(t)
  node.replace('services', wireService('small', '1', { clusterIP: '10.96.0.1' }))
  node.replace('endpoints')
  await node.plane.start()
  const { service, slice } = makeLarge('100', large)
  node.upsert('services', service)
  node.replace('endpointslices', wireSlice('small-1', 'small', '2'), slice)
  await until('all is written', () => node.appliedRevision() === node.state.revision)
  assert.equal(node.writer.endpoints().length, large.ports * large.endpoints + 1)
  const isOfLarge = ([name]: readonly [string, unknown]) => name.startsWith('PLAT-SEP-')
  const afterwards = node.writer.writes.flat().flatMap(({ set }) => [...set].filter(isOfLarge))
  assert.equal(afterwards.length, large.ports * large.endpoints, 'all of it came after the first sync')
})

test('a Service with too many rules is set aside with the reason, keeps its rules, and comes back when it is smaller', async (t) => {
  const node = newNode(t, {}, { maxServiceRules: 1000 })
  await node.plane.start()
  listSmall(node)
  addLarge(node, '100', { ports: 2, endpoints: 20 })
  await until('all is written', () => node.appliedRevision() === node.state.revision)
  assert.equal(node.writer.endpoints().length, 41)
  for (const ports of [20, 40]) {
    addLarge(node, String(100 + ports), { ports, endpoints: 100 })
    await until('the others are applied', () => node.appliedRevision() === node.state.revision)
    const [aside, ...others] = node.plane.view.status().setAside
    assert.deepEqual([aside?.service, aside?.retryAtMs, others.length], ['default/large', undefined, 0])
    assert.match(aside?.reason ?? '', /some \d{4,5} rules, and a Service may have 1000 \(--max-service-rules\)/)
  }
  assert.equal(node.writer.endpoints().length, 41, 'the rules it had stay')
  assert.deepEqual(node.refused, ['default/large'], 'one Event')
  assert.match(node.plane.health().message, /set aside with the rules they had: default\/large/)
  assert.match(
    node.plane.view.explainService('default/large')?.notes.join() ?? '',
    /set aside since .* until it changes/,
  )
  addLarge(node, '900', { ports: 1, endpoints: 3 })
  await until(
    'it is back',
    () => node.plane.view.status().setAside.length === 0 && node.appliedRevision() === node.state.revision,
  )
  assert.equal(node.writer.endpoints().length, 4)
  addLarge(node, '901', large)
  node.state.remove('services', 'default/large', '9999')
  await until('it is gone', () => node.writer.endpoints().length === 1)
  assert.deepEqual(node.plane.view.status().setAside, [])
})

const without = wireService('other', '3', { clusterIP: 'fd00::1', clusterIPs: ['fd00::1'], ipFamilies: ['IPv6'] })

test('a Service of the other family alone waits for the first write only, and for the next one when it fails', async (t) => {
  const node = newNode(t)
  node.writer.refusals = 1
  await node.plane.start()
  node.replace('services', wireService('small', '1', { clusterIP: '10.96.0.1' }), without)
  node.replace('endpointslices', wireSlice('small-1', 'small', '2'))
  node.replace('endpoints')
  await until('the sync after the failed one is made', () => node.appliedRevision() === 1)
  assert.equal(node.writer.refusals, 0)
  assert.equal(node.plane.view.freshness().pendingSinceMs, undefined)
  assert.deepEqual(node.settled.flat().sort(), ['default/other', 'default/small'])
})

test('a Service that loses its addresses of a family is written, and the next change of it is nothing', async (t) => {
  const node = newNode(t)
  await node.plane.start()
  listSmall(node)
  await until('the first sync is made', () => node.appliedRevision() === 1)
  node.upsert('services', wireService('small', '4', { clusterIP: 'fd00::1', clusterIPs: ['fd00::1'] }))
  await until('it is written', () => node.appliedRevision() === 2)
  assert.deepEqual(node.writer.endpoints(), [])
  const writes = node.writer.writes.length
  node.upsert('services', wireService('small', '5', { clusterIP: 'fd00::2', clusterIPs: ['fd00::2'] }))
  await until('it is applied', () => node.appliedRevision() === 3)
  assert.equal(node.writer.writes.length, writes)
})
