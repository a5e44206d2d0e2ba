import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiClient } from '../../../../src/client/index.ts'
import { createDialect } from '../../../../src/model/dialect.ts'
import { NodeRegistration } from '../../../../src/node/registration/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { startTestServer } from '../../../helpers/api-server.ts'
import { accessOfServer, clientOfServer } from '../../../helpers/controllers.ts'
import { untilAsync } from '../../../helpers/until.ts'

/** Counts the statuses that the server has taken. */
class ReportingClient extends ApiClient {
  reports = 0

  override async patch(...args: Parameters<ApiClient['patch']>): ReturnType<ApiClient['patch']> {
    const answer = await super.patch(...args)
    if (args[0].subresource === 'status') this.reports += 1
    return answer
  }
}

const machine = {
  architecture: 'amd64',
  kernelVersion: '6.1',
  osImage: 'Debian GNU/Linux 12 (bookworm)',
  version: 'v0.1.0',
  cpus: 2,
  memoryBytes: 4 * 1024 ** 3,
  agentPort: 10_250,
}

test('a node registers itself, keeps what others wrote on it and comes back after it was lost', async () => {
  await using server = await startTestServer()
  const info = { name: 'n1', addresses: [ipOf('192.0.2.7')], ...machine }
  const start = async (client = clientOfServer(server)) => {
    const dialect = createDialect('kubernetes')
    const registration = new NodeRegistration({
      client,
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
  assert.equal(status.allocatable.memory, '4Gi', 'stored in canonical form')
  assert.deepEqual(status.daemonEndpoints, { kubeletEndpoint: { Port: 10_250 } })
  const lease = await server.call('GET', '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1')
  assert.equal(lease.body.spec.holderIdentity, 'n1')
  assert.equal(lease.body.spec.leaseDurationSeconds, 40)
  await first.stop({ signal: AbortSignal.timeout(1_000) })

  const headers = { 'content-type': 'application/merge-patch+json' }
  const earlier = { ...status.conditions[0], lastHeartbeatTime: '2026-01-01T00:00:00Z' }
  await server.call('PATCH', '/api/v1/nodes/n1/status', { headers, body: { status: { conditions: [earlier] } } })
  const { resourceVersion } = (await node()).metadata
  const reporting = new ReportingClient(accessOfServer(server))
  const again = await start(reporting)
  await untilAsync('the status is reported again', async () => reporting.reports > 0)
  await again.stop({ signal: AbortSignal.timeout(1_000) })
  assert.equal((await node()).metadata.resourceVersion, resourceVersion, 'nothing new is written')

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

test('a new address of the node is reported at the next renewal', async () => {
  await using server = await startTestServer()
  let address = ipOf('10.244.0.1')
  const info = {
    name: 'n1',
    get addresses() {
      return [address]
    },
    ...machine,
  }
  const client = clientOfServer(server)
  const registration = new NodeRegistration({
    client,
    dialect: createDialect('kubernetes'),
    machine: info,
    log: silentLogger,
    intervalMs: 50,
  })
  const reported = async () => (await server.call('GET', '/api/v1/nodes/n1')).body.status?.addresses?.[0].address
  await registration.start()
  await untilAsync('the first address is reported', async () => (await reported()) === '10.244.0.1')
  address = ipOf('192.0.2.7')
  await untilAsync('the next address is reported', async () => (await reported()) === '192.0.2.7')
  await registration.stop({ signal: AbortSignal.timeout(1_000) })
})
