import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { collectInvalidDrops, collectProxyCounts, IptablesMode, ProxyPlane } from '../../../../src/node/proxy/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { FakeWriter, Node, newNode } from '../../../helpers/plane-fixture.ts'
import { until } from '../../../helpers/until.ts'
import { dialect, wireService, wireSlice } from '../../../helpers/wire-objects.ts'

/** Turns of the event loop, without a timer, until the condition holds or there were enough. */
async function turns(condition: () => boolean, most = 1000): Promise<void> {
  for (let turn = 0; turn < most && !condition(); turn += 1) await new Promise((resolve) => setImmediate(resolve))
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

  test('a Service that changes while it is written is overtaken, and settled by the next write alone', async () => {
    node.listEverything()
    await settle(1)
    const write = node.writer.write.bind(node.writer)
    const change = (version: string, address: string) =>
      node.upsert('endpointslices', wireSlice('web-1', 'web', version, { endpoints: [{ addresses: [address] }] }))
    node.writer.write = async (...given) => {
      node.writer.write = write
      change('12', '10.244.0.7')
      return write(...given)
    }
    change('11', '10.244.0.6')
    await settle(3)
    assert.deepEqual(node.writer.endpoints(), ['10.244.0.7'])
    assert.deepEqual(node.overtaken, [['default/web']])
    assert.deepEqual(node.settled.slice(1), [['default/web']])
  })

  test('a change back to what is applied already is not written', async () => {
    node.listEverything()
    await settle(1)
    node.upsert('endpointslices', wireSlice('web-1', 'web', '11', { endpoints: [] }))
    node.upsert('endpointslices', wireSlice('web-1', 'web', '12'))
    await settle(3)
    assert.equal(node.writer.writes.length, 0)
  })

  test('writes at once what takes an endpoint away, where other changes wait for some time after a long write', async () => {
    node.writer.syncTakesMs = 300
    node.listEverything()
    await settle(1)
    const endpoints = [{ addresses: ['10.244.0.5'] }, { addresses: ['10.244.0.6'] }]
    node.upsert('endpointslices', wireSlice('web-1', 'web', '11', { endpoints }))
    await turns(() => false)
    node.upsert('endpointslices', wireSlice('web-1', 'web', '12', { endpoints: endpoints.slice(1) }))
    // What waits, waits for some 300 ms, a hundred times as long as so many turns.
    await turns(() => node.appliedRevision() === 3)
    assert.deepEqual([node.appliedRevision(), node.writer.endpoints()], [3, ['10.244.0.6']])
  })

  test('tells what it serves and when it last synced', async () => {
    node.listEverything()
    await settle(1)
    const { services, objectsHash, lastSync } = node.plane.view.status()
    assert.equal(services, 2)
    assert.match(objectsHash ?? '', /^[0-9a-f]{16}\/2$/)
    assert.equal(lastSync?.bytes, 100)
  })
})

function threeServices(node: Node): void {
  const names = ['a', 'b', 'c']
  node.replace('services', ...names.map((name, index) => wireService(name, '1', { clusterIP: `10.96.0.${index + 1}` })))
  node.replace(
    'endpointslices',
    ...names.map((name, index) =>
      wireSlice(`${name}-1`, name, '2', { endpoints: [{ addresses: [`10.244.0.${index + 1}`] }] }),
    ),
  )
  node.replace('endpoints')
}

describe('a Service that the kernel refuses', () => {
  for (const { title, tells } of [
    { title: 'is found by the line that the kernel names', tells: true },
    { title: 'is found by halving where the kernel names no line', tells: false },
  ]) {
    test(`${title}, and holds up none of the others`, async (t) => {
      const node = newNode(t)
      node.writer.poison = /10\.244\.0\.3/
      node.writer.tells = tells
      await node.plane.start()
      threeServices(node)
      await until('the others are applied', () => node.appliedRevision() === 1)
      assert.deepEqual(node.writer.endpoints(), ['10.244.0.1', '10.244.0.2'])
      assert.equal(node.writer.unwritten, 0, 'who puts right what others change does not try the refused rules again')
      const [setAside, ...more] = node.plane.view.status().setAside
      assert.deepEqual([setAside?.service, more.length], ['default/c', 0])
      assert.match(setAside?.reason ?? '', /writing rules failed/)
      assert.match(node.plane.health().message, /default\/c/)
      assert.deepEqual(node.refused, ['default/c'])
    })
  }

  test('keeps the rules it had, and is written as soon as it is correct', async (t) => {
    const node = newNode(t)
    await node.plane.start()
    threeServices(node)
    await until('all is applied', () => node.appliedRevision() === 1)
    node.writer.poison = /10\.244\.0\.66/
    node.upsert('endpointslices', wireSlice('b-1', 'b', '3', { endpoints: [{ addresses: ['10.244.0.66'] }] }))
    await until('it is set aside', () => node.plane.view.status().setAside.length === 1)
    node.upsert('endpointslices', wireSlice('c-1', 'c', '4', { endpoints: [{ addresses: ['10.244.0.7'] }] }))
    await until('another is written', () => node.appliedRevision() === 3)
    assert.deepEqual(node.writer.endpoints(), ['10.244.0.1', '10.244.0.2', '10.244.0.7'])
    assert.deepEqual(node.settled.slice(1), [['default/c']], 'flows that its rules lead to are no stale ones')
    node.upsert('endpointslices', wireSlice('b-1', 'b', '5', { endpoints: [{ addresses: ['10.244.0.9'] }] }))
    await until('it is written', () => node.plane.view.status().setAside.length === 0)
    assert.deepEqual(node.writer.endpoints(), ['10.244.0.1', '10.244.0.7', '10.244.0.9'])
    assert.deepEqual(node.settled.slice(2), [['default/b']])
    assert.equal(node.plane.health().level, 'ok')
  })

  test('is tried again by itself, with nothing else to write', async (t) => {
    const node = newNode(t)
    node.writer.poison = /10\.244\.0\.2/
    await node.plane.start()
    threeServices(node)
    await until('it is set aside', () => node.plane.view.status().setAside.length === 1)
    node.writer.poison = undefined
    await until('it is written', () => node.plane.view.status().setAside.length === 0, 30_000)
    assert.equal(node.writer.endpoints().length, 3)
  })

  test("a failure that is no Service's fault sets none aside", async (t) => {
    const node = newNode(t)
    node.writer.poison = /PLAT-POSTROUTING/
    await node.plane.start()
    threeServices(node)
    await until('the write has failed', () => node.plane.health().message.includes('failed'))
    assert.deepEqual(node.plane.view.status().setAside, [])
    node.writer.poison = undefined
    await until('all is applied', () => node.appliedRevision() === 1, 30_000)
    assert.equal(node.writer.endpoints().length, 3)
  })
})

test('of two families each has a plane of its own, and one that fails does not hold up the other', async (t) => {
  const node = newNode(t)
  const failing = new FakeWriter()
  failing.refusals = Number.POSITIVE_INFINITY
  node.applied.register('proxy-ipv6', 'IPv6')
  const settings = { nodeName: 'n1', family: 'IPv6' } as const
  const ipv6 = new ProxyPlane({
    ...node,
    mode: new IptablesMode('IPv6', failing),
    settings,
    metrics: node.metrics,
    log: silentLogger,
  })
  t.after(() => ipv6.stop({ signal: AbortSignal.timeout(1000) }))
  await node.plane.start()
  await ipv6.start()
  node.listEverything()
  await until('IPv6 has failed', () => ipv6.health().message.includes('lock is held'))
  await until('IPv4 is applied', () => node.appliedRevision() === 1)
  node.upsert('endpointslices', wireSlice('web-1', 'web', '11', { endpoints: [{ addresses: ['10.244.0.6'] }] }))
  await until('IPv4 is applied again', () => node.appliedRevision() === 2)
  assert.deepEqual(node.applied.report().planes, { proxy: 2, 'proxy-ipv6': 0 })
  await until('IPv6 is reported as failing', () => node.applied.report().failing.includes('proxy-ipv6'), 30_000)
  failing.refusals = 0
  await until('IPv6 has caught up', () => node.applied.report().planes['proxy-ipv6'] === 2, 30_000)
  assert.equal(ipv6.view.status().services, 0, 'none of the Services has an address of this family')
})

test('a node that changes is planned anew in place, and nothing is written before it is known', async (t) => {
  const node = new Node()
  const settings = { nodeName: 'n1', family: 'IPv4' } as const
  node.applied.register('proxy-2')
  const plane = new ProxyPlane({
    ...node,
    mode: new IptablesMode('IPv4', node.writer),
    settings,
    waitsForNode: true,
    log: silentLogger,
  })
  t.after(() => plane.stop({ signal: AbortSignal.timeout(1000) }))
  await plane.start()
  const hints = { forZones: [{ name: 'a' }] }
  const others = { forZones: [{ name: 'b' }] }
  node.replace('services', wireService('web', '1'))
  node.replace('endpoints')
  node.replace(
    'endpointslices',
    wireSlice('web-1', 'web', '2', {
      endpoints: [
        { addresses: ['10.244.0.1'], hints },
        { addresses: ['10.244.0.2'], hints: others },
      ],
    }),
  )
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(node.writer.syncs.length, 0)
  plane.configure({ ...settings, zone: 'a' })
  await until('the zone counts', () => node.writer.endpoints().join() === '10.244.0.1')
  plane.configure({ ...settings, zone: 'b' })
  await until('the other zone counts', () => node.writer.endpoints().join() === '10.244.0.2')
  const writes = node.writer.writes.length
  plane.configure({ ...settings, zone: 'b' })
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.equal(node.writer.writes.length, writes, 'equal settings write nothing')
})

test('rules, Local policies without a local endpoint and pending changes are counted when metrics are asked for', async (t) => {
  const node = newNode(t)
  const metrics = node.registry
  collectProxyCounts(metrics, [node.plane.view])
  collectInvalidDrops(metrics, [{ family: 'IPv4', countersOf: async () => ({ packets: 7, bytes: 420 }) }])
  await node.plane.start()
  const local = { type: 'NodePort', internalTrafficPolicy: 'Local', externalTrafficPolicy: 'Local' }
  node.replace('services', wireService('web', '1', { ...local, ports: [{ name: 'http', port: 80, nodePort: 30080 }] }))
  node.replace('endpoints')
  node.replace('endpointslices', wireSlice('web-1', 'web', '2'))
  await until('all is applied', () => node.appliedRevision() === 1)
  const change = new Date(Date.now() + 1).toISOString()
  for (const [version, trigger] of [
    ['3', '2020-01-01T00:00:00Z'],
    ['4', change],
    ['5', 'nonsense'],
  ] as const) {
    const slice = wireSlice('web-1', 'web', version, { endpoints: [{ addresses: [`10.244.0.${version}`] }] })
    const annotations = { [dialect.annotations.lastChangeTriggerTime]: trigger }
    node.upsert('endpointslices', { ...slice, metadata: { ...slice.metadata, annotations } })
  }
  await until('the slices are applied', () => node.appliedRevision() === 4)
  const { body } = await metrics.text()
  assert.match(body, /no_local_endpoints_total\{traffic_policy="internal",ip_family="IPv4"\} 1/)
  assert.match(body, /no_local_endpoints_total\{traffic_policy="external",ip_family="IPv4"\} 1/)
  assert.match(body, /iptables_total\{table="nat",ip_family="IPv4"\} [1-9]/)
  assert.match(body, /service_changes_pending\{ip_family="IPv4"\} 0/)
  assert.match(body, /endpoint_changes_pending\{ip_family="IPv4"\} 0/)
  assert.match(body, /service_changes_total\{ip_family="IPv4"\} 1/)
  assert.match(body, /endpoint_changes_total\{ip_family="IPv4"\} 3/)
  assert.match(body, /iptables_last\{table="nat",ip_family="IPv4"\} 3/)
  assert.match(
    body,
    /network_programming_duration_seconds_count\{ip_family="IPv4"\} 1/,
    'one cause lies after the start',
  )
  assert.match(body, /ct_state_invalid_dropped_packets_total\{ip_family="IPv4"\} 7/)
})
