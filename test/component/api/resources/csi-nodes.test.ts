import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { parseProtobufBody } from '../../../../src/api/decode/protobuf.ts'
import { toProtobuf } from '../../../../src/api/encode/protobuf.ts'
import { protobufType } from '../../../../src/api/negotiate/accept.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'

const path = '/apis/storage.k8s.io/v1/csinodes'
const strategic = { 'content-type': 'application/strategic-merge-patch+json' }

describe('a CSINode', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const make = (name: string, ...drivers: readonly object[]) =>
    server.call('POST', path, { body: { metadata: { name }, spec: { drivers } } })

  test('has drivers that come and go, each as a whole', async () => {
    await make('a', { name: 'one', nodeID: 'x' })
    const patch = (drivers: readonly object[]) =>
      server.call('PATCH', `${path}/a`, { body: { spec: { drivers } }, headers: strategic })
    const changed = await patch([{ name: 'one', nodeID: 'y' }])
    assert.deepEqual([changed.code, changed.body.details.causes[0].field], [422, 'spec.drivers'])
    assert.match(changed.body.message, /field is immutable$/)
    const empty = await patch([{ name: 'one', topologyKeys: [] }])
    assert.equal(empty.code, 200, 'no keys and an empty list of keys are the same')
    const added = await patch([{ name: 'two', nodeID: 'x', topologyKeys: ['zone'] }])
    assert.deepEqual(added.body.spec.drivers.map(({ name }: { name: string }) => name).toSorted(), ['one', 'two'])
    const removed = await patch([{ $patch: 'delete', name: 'one' }])
    assert.deepEqual(removed.body.spec.drivers, [{ name: 'two', nodeID: 'x', topologyKeys: ['zone'] }])
  })

  test('is updated with its resourceVersion only, and a delete answers it', async () => {
    const { body } = await make('b')
    const blind = { ...body, metadata: { name: 'b' } }
    assert.equal((await server.call('PUT', `${path}/b`, { body: blind })).code, 422)
    assert.equal((await server.call('PUT', `${path}/b`, { body })).code, 200)
    const gone = await server.call('DELETE', `${path}/b`)
    assert.deepEqual([gone.body.kind, gone.body.metadata.name], ['CSINode', 'b'])
  })

  test('shows the number of its drivers in a Table', async () => {
    await make('c', { name: 'one', nodeID: 'x' }, { name: 'two', nodeID: 'x' })
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
    const { columnDefinitions, rows } = (await server.call('GET', `${path}/c`, { headers })).body
    assert.deepEqual(
      columnDefinitions.map(({ name, type }: { name: string; type: string }) => [name, type]),
      [
        ['Name', 'string'],
        ['Drivers', 'integer'],
        ['Age', 'string'],
      ],
    )
    assert.deepEqual(rows[0].cells.slice(0, 2), ['c', 2])
  })

  test('is made and read in protobuf, as a kubelet does it', async () => {
    const { authority } = server
    const { certPem, keyPem } = await authority.issue('system:node:node-1', 'system:nodes')
    await server.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'node-1' } } })
    const { uid } = (await server.call('GET', '/api/v1/nodes/node-1')).body.metadata
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'node-1', uid }]
    const drivers = [{ name: 'csi.example.com', nodeID: 'n', topologyKeys: ['zone'], allocatable: { count: 8 } }]
    const node = { metadata: { name: 'node-1', ownerReferences }, spec: { drivers } }
    const call = (method: string, at: string, body?: Uint8Array) =>
      server.call(method, at, {
        token: null,
        tls: { cert: certPem, key: keyPem },
        headers: { accept: protobufType, 'content-type': protobufType },
        ...(body === undefined ? {} : { body }),
      })
    const made = await call('POST', path, toProtobuf({ group: 'storage.k8s.io', version: 'v1', kind: 'CSINode' }, node))
    assert.equal(made.code, 201, made.text)
    const read = await call('GET', `${path}/node-1`)
    assert.equal(read.headers['content-type'], protobufType)
    const { metadata, spec } = parseProtobufBody(read.bytes) as typeof node
    assert.deepEqual({ metadata: { name: metadata.name, ownerReferences: metadata.ownerReferences }, spec }, node)
  })

  test('is not served in the platform dialect, which no kubelet speaks', async (t) => {
    const platform = await startTestServer({ dialect: 'platform' })
    t.after(() => platform.stop())
    assert.equal((await platform.call('GET', '/apis/storage.platform.internal/v1/csinodes')).code, 404)
  })
})
