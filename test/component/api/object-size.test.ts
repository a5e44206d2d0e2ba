import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Reply, startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { configMap, paths } from '../../helpers/manifests.ts'

const limitBytes = 100_000
const path = '/api/v1/namespaces/default/endpoints'

function endpoints(name: string, addresses: number, metadata: object = {}) {
  const ips = Array.from({ length: addresses }, (_, index) => ({ ip: `10.9.${index >> 8}.${index & 255}` }))
  return { metadata: { name, ...metadata }, subsets: [{ addresses: ips, ports: [{ port: 80 }] }] }
}

function assertTooLarge(reply: Reply): void {
  assert.deepEqual([reply.code, reply.body.reason], [413, 'RequestEntityTooLarge'])
  assert.match(
    reply.body.message,
    /^Request entity too large: the object has \d+ bytes as it would be stored, limit is 100000$/,
  )
}

describe('an object that would be stored with more bytes than the limit is a 413', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ limits: { maxObjectBytes: limitBytes } })
  })
  after(() => server.stop())

  const patch = (type: string, name: string, body: unknown) =>
    server.call('PATCH', name, { body, headers: { 'content-type': `application/${type}` } })
  const large = 'x'.repeat(limitBytes)

  test('of a create and a dry run; the connection serves on', async () => {
    assertTooLarge(await server.call('POST', path, { body: endpoints('big', 6000) }))
    assertTooLarge(await server.call('POST', `${path}?dryRun=All`, { body: endpoints('big', 6000) }))
    assert.equal((await server.call('GET', `${path}/big`)).code, 404)
  })

  test('of an update, every kind of patch and a server-side apply, which each send little', async () => {
    const made = await server.call('POST', paths.configMaps, { body: configMap('grows', { a: 'y'.repeat(60_000) }) })
    assert.equal(made.code, 201)
    const name = `${paths.configMaps}/grows`
    const more = { data: { b: 'z'.repeat(60_000) } }
    const copies = ['b', 'c'].map((key) => ({ op: 'copy', from: '/data/a', path: `/data/${key}` }))
    assertTooLarge(await server.call('PUT', name, { body: configMap('grows', { a: large }) }))
    assertTooLarge(await patch('merge-patch+json', name, more))
    assertTooLarge(await patch('strategic-merge-patch+json', name, more))
    assertTooLarge(await patch('json-patch+json', name, copies))
    const applied = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'grows' }, ...more }
    assertTooLarge(await patch('apply-patch+yaml', `${name}?fieldManager=m`, applied))
    assert.deepEqual((await server.call('GET', name)).body.metadata.resourceVersion, made.body.metadata.resourceVersion)
  })

  test('of a status that grows', async () => {
    const status = { conditions: [{ type: 'Ready', status: 'True', message: large }] }
    await server.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'n1' } } })
    assertTooLarge(await patch('merge-patch+json', '/api/v1/nodes/n1/status', { status }))
  })

  test('unless only its managed fields make it too large: these are dropped', async () => {
    const data = Object.fromEntries(Array.from({ length: 2_500 }, (_, index) => [`key-${index}`, '']))
    const labels = { a: 'y'.repeat(40), b: 'z' }
    const sizeOf = (value: unknown) => JSON.stringify(value).length
    const object = { ...configMap('fields', data, labels), binaryData: {} }
    assert.ok(sizeOf(object) < 60_000)
    const made = await server.call('POST', paths.configMaps, { body: object })
    assert.ok(sizeOf(made.body.metadata.managedFields) > 30_000)
    const full = await patch('merge-patch+json', `${paths.configMaps}/fields`, { data: { more: 'x'.repeat(30_000) } })
    assert.deepEqual([full.code, full.body.metadata.managedFields], [200, undefined])
  })

  test('also where a finalizer keeps it: it is deleted, and the finalizer can be taken away', async () => {
    const room = limitBytes - 700
    const metadata = { name: 'kept', finalizers: ['example.com/keep'] }
    const made = await server.call('POST', paths.configMaps, { body: { metadata, data: { a: 'x'.repeat(room) } } })
    assert.equal(made.code, 201)
    const name = `${paths.configMaps}/kept`
    assert.equal((await server.call('DELETE', name)).code, 200)
    assert.ok((await server.call('GET', name)).body.metadata.deletionTimestamp)
    assert.equal((await patch('merge-patch+json', name, { metadata: { finalizers: null } })).code, 200)
    assert.equal((await server.call('GET', name)).code, 404)
  })
})

test('An object from before the limit may shrink and go, and may not grow.', async () => {
  await using before = await startTestServer()
  const object = configMap('old', { a: 'x'.repeat(200_000) })
  await before.call('POST', paths.configMaps, { body: object })
  await using server = await startTestServer({ store: before.store, limits: { maxObjectBytes: limitBytes } })
  const put = (length: number) =>
    server.call('PUT', `${paths.configMaps}/old`, { body: configMap('old', { a: 'x'.repeat(length) }) })
  assertTooLarge(await put(200_001))
  assert.equal((await put(150_000)).code, 200)
  assert.equal((await server.call('DELETE', `${paths.configMaps}/old`)).code, 200)
})

describe('the aliases of a YAML body', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const post = (body: string) =>
    server.call('POST', '/api/v1/namespaces/default/configmaps', {
      body,
      headers: { 'content-type': 'application/yaml' },
    })
  const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: aliased}\n'

  test('are a 413 where they expand the object beyond the limit, before any of it is copied', async () => {
    const uses = Array.from({ length: 90 }, (_, index) => `  k${index}: *a`).join('\n')
    const heapBefore = process.memoryUsage().heapUsed
    const reply = await post(`${head}x: &a ${'x'.repeat(2_000_000)}\ndata:\n${uses}\n`)
    assert.deepEqual([reply.code, reply.body.reason], [413, 'RequestEntityTooLarge'])
    assert.match(reply.body.message, /aliases of the YAML expand it, limit is 6291456/)
    assert.ok(process.memoryUsage().heapUsed - heapBefore < 100e6)
  })

  test('are a 400 where one stands in its own anchor, and a 413 or 400 where they double', async () => {
    assert.equal((await post(`${head}data: &a {b: *a}\n`)).code, 400)
    const levels = Array.from({ length: 24 }, (_, index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]`)
    assert.ok([400, 413].includes((await post(`${head}a0: &a0 [x, x]\n${levels.join('\n')}\n`)).code))
  })

  test('that expand little are taken', async () => {
    const reply = await post(`${head}data: {a: &a text, b: *a}\n`)
    assert.deepEqual([reply.code, reply.body.data], [201, { a: 'text', b: 'text' }])
  })
})

describe('a namespace', () => {
  const megabyte = 'x'.repeat(1_000_000)
  let server: TestServer
  before(async () => {
    server = await startTestServer({ limits: { maxStoreBytes: 10_000_000 } })
    for (const name of ['one', 'two']) await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
  })
  after(() => server.stop())

  /** How many objects of a megabyte it takes. */
  async function fill(namespace: string): Promise<number> {
    for (let count = 0; ; count++) {
      const body = configMap(`c-${count}`, { a: megabyte })
      const reply = await server.call('POST', `/api/v1/namespaces/${namespace}/configmaps`, { body })
      if (reply.code === 201) continue
      assert.deepEqual([reply.code, reply.body.reason], [403, 'Forbidden'])
      assert.match(reply.body.message, /forbidden: exceeded quota: namespace \w+ holds \d+ bytes of the 10000000/)
      return count
    }
  }

  test('may hold as much as is left of what all may hold: there is room for the next', async () => {
    assert.deepEqual([await fill('one'), await fill('two')], [5, 2])
    const small = await server.call('POST', '/api/v1/namespaces/kube-system/configmaps', { body: configMap('small') })
    assert.equal(small.code, 201)
  })

  test('that holds all it may can be made smaller and emptied, and then has room again', async () => {
    const path = '/api/v1/namespaces/one/configmaps'
    const put = (length: number) =>
      server.call('PUT', `${path}/c-0`, { body: configMap('c-0', { a: 'x'.repeat(length) }) })
    assert.equal((await put(1_010_000)).code, 403)
    assert.equal((await put(999_000)).code, 200)
    assert.equal((await server.call('DELETE', path)).code, 200)
    assert.ok((await fill('one')) >= 3)
  })
})
