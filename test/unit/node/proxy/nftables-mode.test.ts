import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newNftNode } from '../../../helpers/nft-node.ts'
import { ip } from '../../../helpers/services.ts'
import { until } from '../../../helpers/until.ts'
import { wireService, wireSlice } from '../../../helpers/wire-objects.ts'

const packet = {
  source: ip('10.244.0.9'),
  destination: ip('10.96.0.10'),
  protocol: 'TCP',
  port: 80,
  state: 'NEW',
  origin: 'elsewhere',
} as const

test('Services become elements, and each change of one is one transaction of its elements', async (t) => {
  const node = newNftNode(t)
  await node.plane.start()
  node.listEverything()
  await until('it is applied', () => node.appliedRevision() === 1)
  assert.ok(node.kernel.elements().includes('endpoints 10.96.0.10 . tcp . 80 . 0:1 : 10.244.0.5 . 8080'))
  const from = node.kernel.transactions.length
  node.upsert('endpointslices', wireSlice('web-1', 'web', '11', { endpoints: [{ addresses: ['10.244.0.6'] }] }))
  await until('it is applied again', () => node.appliedRevision() === 2)
  const [change, ...more] = node.kernel.transactions.slice(from)
  assert.equal(more.length, 0)
  assert.deepEqual(change?.text.match(/10\.244\.0\.\d+ \. 8080/g), ['10.244.0.6 . 8080'])
  assert.equal(node.completed.length, 2, 'what the other mode left may go after each')
})

test('a restart that finds its objects is ready without a write', async (t) => {
  const before = newNftNode(t)
  await before.plane.start()
  before.listEverything()
  await until('it is applied', () => before.appliedRevision() === 1)
  await before.plane.stop({ signal: AbortSignal.timeout(1000) })
  const written = before.kernel.transactions.length
  const after = newNftNode(t, before.kernel)
  await after.plane.start()
  after.listEverything()
  await until('it is applied', () => after.appliedRevision() === 1)
  await until('it is planned', () => !after.plane.view.isPlanning)
  assert.equal(before.kernel.transactions.length, written)
})

test('a Service whose element the kernel refuses is set aside, and the others are written', async (t) => {
  const node = newNftNode(t)
  await node.plane.start()
  node.listEverything()
  await until('it is applied', () => node.appliedRevision() === 1)
  node.kernel.poison = /10\.244\.0\.66/
  node.upsert('endpointslices', wireSlice('web-1', 'web', '11', { endpoints: [{ addresses: ['10.244.0.66'] }] }))
  node.upsert('services', wireService('third', '12', { clusterIP: '10.96.0.12' }))
  node.upsert('endpointslices', wireSlice('third-1', 'third', '13', { endpoints: [{ addresses: ['10.244.0.7'] }] }))
  await until('it is set aside', () => node.plane.view.status().setAside.length === 1)
  await until('the other one is written', () =>
    node.kernel.elements().some((element) => element.endsWith('10.244.0.7 . 8080')),
  )
  assert.equal(node.plane.view.status().setAside[0]?.service, 'default/web')
  assert.ok(node.kernel.elements().includes('endpoints 10.96.0.10 . tcp . 80 . 0:1 : 10.244.0.5 . 8080'), 'as it was')
})

test('a Service that is refused from the first is named as one of which the kernel holds nothing, until it is taken', async (t) => {
  const node = newNftNode(t)
  node.kernel.poison = /10\.244\.0\.5 /
  await node.plane.start()
  node.listEverything()
  await until('all else is written', () => node.completed.length > 0)
  assert.deepEqual(node.unserved, ['default/web'])
  node.upsert('endpointslices', wireSlice('web-1', 'web', '11', { endpoints: [{ addresses: ['10.244.0.6'] }] }))
  await until('it is taken', () => node.unserved.length === 0)
  node.kernel.poison = /10\.244\.0\.66/
  node.upsert('endpointslices', wireSlice('web-1', 'web', '12', { endpoints: [{ addresses: ['10.244.0.66'] }] }))
  await until('it is set aside', () => node.plane.view.status().setAside.length === 1)
  assert.deepEqual(node.unserved, [], 'it has what it had')
})

test('status says the mode and why, explain the elements that decide, and counts are of elements', async (t) => {
  const node = newNftNode(t)
  await node.plane.start()
  node.listEverything()
  await until('it is applied', () => node.appliedRevision() === 1)
  const { mode, modeReason } = node.plane.view.status()
  assert.deepEqual([mode, modeReason], ['nftables', 'for this test'])
  const explained = node.plane.view.explainFlow(packet, { isLocalAddress: () => false })
  assert.equal(explained.outcomes[0]?.endpoint, '10.244.0.5:8080')
  assert.ok(
    explained.lines.includes('    nftables endpoints: 10.96.0.10 . tcp . 80 . 0:1 : 10.244.0.5 . 8080'),
    explained.lines.join('\n'),
  )
  const held = node.kernel.elements().filter((element) => !element.startsWith('state'))
  assert.equal(node.plane.view.ruleCounts().elements, held.length)
  assert.match((await node.registry.text()).body, /platnet_proxy_mode\{mode="nftables",ip_family="IPv4"\} 1/)
  assert.doesNotMatch((await node.registry.text()).body, /^kubeproxy_sync_proxy_rules_iptables_total\{/m)
})

test('other settings change rules and elements in one transaction', async (t) => {
  const node = newNftNode(t)
  await node.plane.start()
  node.listEverything()
  await until('it is applied', () => node.appliedRevision() === 1)
  const from = node.kernel.transactions.length
  node.plane.configure({ nodeName: 'n1', family: 'IPv4', masqueradeAll: true })
  await until('it is written', () =>
    node.kernel.elements().some((each) => each === 'addresses 10.96.0.10 . tcp . 80 : 2:1'),
  )
  assert.ok(node.kernel.transactions.length > from)
})
