import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDialect } from '../../../../src/model/dialect.ts'
import { parseIp } from '../../../../src/model/ip.ts'
import { NodeRegistration } from '../../../../src/node/registration/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { startTestServer } from '../../../helpers/api-server.ts'
import { clientOfServer } from '../../../helpers/controllers.ts'
import { untilAsync } from '../../../helpers/until.ts'

test('a node registers itself, keeps what others wrote on it and comes back after it was lost', async () => {
  await using server = await startTestServer()
  const address = parseIp('192.0.2.7')
  assert.ok(address)
  const machine = {
    architecture: 'amd64',
    kernelVersion: '6.1',
    osImage: 'Debian GNU/Linux 12 (bookworm)',
    version: 'v0.1.0',
    cpus: 2,
    memoryBytes: 4 * 1024 ** 3,
    agentPort: 10_250,
  }
  const info = { name: 'n1', addresses: [address], ...machine }
  const start = async () => {
    const dialect = createDialect('kubernetes')
    const registration = new NodeRegistration({
      client: clientOfServer(server),
      dialect,
      machine: info,
      log: silentLogger,
    })
    await registration.start()
    return registration
  }
  const node = async () => (await server.call('GET', '/api/v1/nodes/n1')).body
  const ready = async () =>
    (await node()).status?.conditions?.find(({ type }: { type: string }) => type === 'Ready')?.status
  const first = await start()
  await untilAsync('the node is ready', async () => (await ready()) === 'True')
  const { metadata, status } = await node()
  assert.equal(metadata.labels['kubernetes.io/hostname'], 'n1')
  assert.deepEqual(status.addresses[0], { type: 'InternalIP', address: '192.0.2.7' })
  assert.equal(status.allocatable.memory, '4194304Ki')
  assert.deepEqual(status.daemonEndpoints, { kubeletEndpoint: { Port: 10_250 } })
  const lease = await server.call('GET', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1')
  assert.equal(lease.body.spec.holderIdentity, 'n1')
  assert.equal(lease.body.spec.leaseDurationSeconds, 40)
  await first.stop({ signal: AbortSignal.timeout(1_000) })

  const { resourceVersion } = (await node()).metadata
  const again = await start()
  const renewed = async () =>
    (await server.call('GET', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1')).body.spec.renewTime
  await untilAsync('the Lease is renewed', async () => (await renewed()) !== lease.body.spec.renewTime)
  await again.stop({ signal: AbortSignal.timeout(1_000) })
  assert.equal((await node()).metadata.resourceVersion, resourceVersion, 'a report that says nothing new writes nothing')

  const headers = { 'content-type': 'application/merge-patch+json' }
  const unknown = { type: 'Ready', status: 'Unknown' }
  const other = { type: 'DiskPressure', status: 'False' }
  await server.call('PATCH', '/api/v1/nodes/n1/status', { headers, body: { status: { conditions: [unknown, other] } } })
  await server.call('PATCH', '/api/v1/nodes/n1', { headers, body: { metadata: { labels: { rack: '7' } } } })
  const second = await start()
  await untilAsync('the node is ready again', async () => (await ready()) === 'True')
  assert.equal((await node()).metadata.labels.rack, '7')
  assert.ok((await node()).status.conditions.some(({ type }: { type: string }) => type === 'DiskPressure'))

  const network = async () =>
    (await node()).status.conditions.find(({ type }: { type: string }) => type === 'NetworkUnavailable')
  assert.equal(await network(), undefined, 'it is not ours before we know')
  second.setNetwork({ isReady: false, message: 'no usable network' })
  await untilAsync('pods are kept away', async () => (await network())?.status === 'True')
  assert.equal((await network()).message, 'no usable network')
  second.setNetwork({ isReady: true, message: 'the network platnet' })
  await untilAsync('pods may come', async () => (await network())?.status === 'False')
  assert.ok((await node()).status.conditions.some(({ type }: { type: string }) => type === 'DiskPressure'))
  await second.stop({ signal: AbortSignal.timeout(1_000) })
})
