import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createAddressRepairController } from '../../../../src/controllers/addresses/address-repair-controller.ts'
import { createServiceCidrController } from '../../../../src/controllers/addresses/service-cidr-controller.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { runControllers } from '../../../helpers/controller-lab.ts'
import { untilAsync } from '../../../helpers/until.ts'

const generousMs = 30_000
const group = '/apis/networking.k8s.io/v1'
const services = '/api/v1/namespaces/default/services'

describe('addresses of Services', () => {
  let server: TestServer
  let running: AsyncDisposable
  before(async () => {
    server = await startTestServer()
    running = await runControllers(server, (context) => [
      createServiceCidrController(context),
      createAddressRepairController(context),
    ])
  })
  after(async () => {
    await running[Symbol.asyncDispose]()
    await server.stop()
  })

  const makeService = async (name: string, spec: object = {}) => {
    const body = { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } }
    const created = await server.call('POST', services, { body })
    assert.equal(created.code, 201, created.text)
    return created.body
  }
  const parentOf = async (ip: string) =>
    (await server.call('GET', `${group}/ipaddresses/${ip}`)).body.spec?.parentRef?.name
  const isReported = async (reason: string, about: string): Promise<boolean> => {
    const { body } = await server.call('GET', '/api/v1/namespaces/default/events')
    return body.items.some(
      (event: { reason: string; involvedObject: { name: string } }) =>
        event.reason === reason && event.involvedObject.name === about,
    )
  }
  /** Puts an object into the store as a crash, or another store, may have left it. */
  const leave = async (from: string, to: string, change: (text: string) => string) => {
    const entry = await server.store.get(`/registry/${from}`)
    assert.ok(entry)
    await server.store.commit([
      {
        kind: 'put',
        key: `/registry/${to}`,
        value: change(entry.value),
        expectedRevision: from === to ? entry.revision : 0,
      },
    ])
  }
  const lose = async (key: string) => {
    const entry = await server.store.get(`/registry/${key}`)
    assert.ok(entry)
    await server.store.commit([{ kind: 'delete', key: entry.key, expectedRevision: entry.revision }])
  }

  test('an address without an IPAddress is allocated to its Service again', async () => {
    const { spec } = await makeService('untaken')
    await lose(`ipaddresses/${spec.clusterIP}`)
    await untilAsync('it is taken', async () => (await parentOf(spec.clusterIP)) === 'untaken', generousMs)
    await untilAsync('it is reported', () => isReported('ClusterIPNotAllocated', 'untaken'), generousMs)
    assert.equal((await server.call('DELETE', `${services}/untaken`)).code, 200)
    assert.equal(await parentOf(spec.clusterIP), undefined, 'the server takes it for its own')
  })

  test('an address that names another owner is put right', async () => {
    const { spec } = await makeService('mistaken')
    const key = `ipaddresses/${spec.clusterIP}`
    await leave(key, key, (text) => text.replace('"name":"mistaken"', '"name":"stranger"'))
    await untilAsync('it is put right', async () => (await parentOf(spec.clusterIP)) === 'mistaken', generousMs)
    await untilAsync('it is reported', () => isReported('IPAddressWrongReference', 'mistaken'), generousMs)
  })

  test('an address whose Service is gone is given back, after a while', async () => {
    const { spec } = await makeService('model')
    const [old, young] = ['10.96.77.1', '10.96.77.2']
    const copy = (ip: string, text: string) =>
      text.replaceAll(spec.clusterIP, ip).replace('"name":"model"', '"name":"gone"')
    await leave(`ipaddresses/${spec.clusterIP}`, `ipaddresses/${young}`, (text) => copy(young, text))
    await leave(`ipaddresses/${spec.clusterIP}`, `ipaddresses/${old}`, (text) =>
      copy(old, text).replace(/"creationTimestamp":"[^"]*"/, '"creationTimestamp":"2026-01-01T00:00:00Z"'),
    )
    await untilAsync('the old one is free', async () => (await parentOf(old)) === undefined, generousMs)
    assert.equal(await parentOf(young), 'gone')
    assert.equal(await parentOf(spec.clusterIP), 'model')
  })

  test('Services that share an address or a node port get an Event, all but the first', async () => {
    await makeService('first', { type: 'NodePort', ports: [{ port: 80, nodePort: 30777 }] })
    await leave('services/default/first', 'services/default/second', (text) =>
      text
        .replace('"name":"first"', '"name":"second"')
        .replace(/"creationTimestamp":"[^"]*"/, '"creationTimestamp":"2099-01-01T00:00:00Z"'),
    )
    await untilAsync('the address is reported', () => isReported('ClusterIPAlreadyAllocated', 'second'), generousMs)
    await untilAsync('the port is reported', () => isReported('PortAlreadyAllocated', 'second'), generousMs)
    assert.equal(await isReported('PortAlreadyAllocated', 'first'), false)
  })

  test('a ServiceCIDR is ready and held; deleted, it stays until no address needs it', async () => {
    const path = `${group}/servicecidrs/extra`
    const body = { metadata: { name: 'extra' }, spec: { cidrs: ['10.200.0.0/28'] } }
    assert.equal((await server.call('POST', `${group}/servicecidrs`, { body })).code, 201)
    const read = async () => (await server.call('GET', path)).body
    const ready = async () => (await read()).status?.conditions?.find(({ type }: { type: string }) => type === 'Ready')
    await untilAsync(
      'it has its finalizer',
      async () => (await read()).metadata.finalizers?.join() === 'networking.k8s.io/service-cidr-finalizer',
      generousMs,
    )
    assert.equal((await ready()).status, 'True')
    await makeService('inside', { clusterIP: '10.200.0.5' })
    await server.call('DELETE', path)
    await untilAsync('it says why it stays', async () => (await ready())?.reason === 'Terminating', generousMs)
    assert.match((await ready()).message, /There are still IPAddresses referencing the ServiceCIDR.*10\.200\.0\.5/)
    const refused = await server.call('POST', services, {
      body: { metadata: { name: 'late' }, spec: { clusterIP: '10.200.0.6', ports: [{ port: 80 }] } },
    })
    assert.equal(refused.code, 422, 'it gives nothing any more')
    await server.call('DELETE', `${services}/inside`)
    await untilAsync('it is gone', async () => (await server.call('GET', path)).code === 404, generousMs)
  })
})
