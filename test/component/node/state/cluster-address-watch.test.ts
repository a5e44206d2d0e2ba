import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDialect } from '../../../../src/model/dialect.ts'
import { ClusterAddresses, ClusterAddressWatch } from '../../../../src/node/state/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { startTestServer } from '../../../helpers/api-server.ts'
import { clientOfServer } from '../../../helpers/controllers.ts'
import { clientOf, startServer } from '../../../helpers/scripted-server.ts'
import { until } from '../../../helpers/until.ts'

const dialect = createDialect('kubernetes')

test('nodes and networks of Services are followed once they are wanted, each by itself', async () => {
  await using server = await startTestServer()
  const addresses = new ClusterAddresses(30_000)
  const watch = new ClusterAddressWatch({ client: clientOfServer(server), dialect, addresses, log: silentLogger })
  await watch.start()
  try {
    const status = (address: string) => ({ addresses: [{ type: 'InternalIP', address }] })
    const node = (name: string, address: string) =>
      server.call('POST', '/api/v1/nodes', { body: { metadata: { name }, status: status(address) } })
    await node('n1', '192.0.2.1')
    await addresses.want('servicecidrs')
    assert.deepEqual([addresses.serviceCidrs, addresses.nodes.size], [['10.96.0.0/12'], 0])
    await addresses.want('nodes')
    assert.deepEqual([...addresses.nodes], [['192.0.2.1', 'n1']])
    await node('n2', '::ffff:192.0.2.2')
    await until('the second one is known', () => addresses.nodes.size === 2)
    assert.deepEqual([...addresses.nodes].at(-1), ['192.0.2.2', 'n2'])
    await server.call('DELETE', '/api/v1/nodes/n1')
    await until('the first one is forgotten', () => addresses.nodes.size === 1)
  } finally {
    await watch.stop()
  }
})

test('a resource that this node may not read delays nothing, is requested once, and again later', async () => {
  let code = 403
  await using server = await startServer((_request, response) => {
    response.writeHead(code, { 'content-type': 'application/json' })
    const list = { kind: 'ServiceCIDRList', apiVersion: 'v1', metadata: { resourceVersion: '1' }, items: [] }
    response.end(JSON.stringify(code === 200 ? list : { kind: 'Status', status: 'Failure', code, reason: 'Forbidden' }))
  })
  const addresses = new ClusterAddresses(30_000)
  const lines: string[] = []
  const log = { ...silentLogger, warn: (message: string) => lines.push(message), child: () => log } as never
  const watch = new ClusterAddressWatch({ client: clientOf(server), dialect, addresses, log, retryMs: 300 })
  await watch.start()
  try {
    const startedMs = performance.now()
    await addresses.want('nodes', 'servicecidrs')
    assert.ok(performance.now() - startedMs < 5000)
    const asked = server.requests.length
    await until('both are asked for again', () => server.requests.length >= asked + 2)
    assert.equal(lines.filter((line) => line.startsWith('external addresses are not compared with')).length, 2)
    code = 404
    await until('a server without the resource is asked on', () => server.requests.length >= asked + 6)
    assert.equal(lines.filter((line) => line.startsWith('external addresses are not compared with')).length, 2)
  } finally {
    await watch.stop()
  }
})
