import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { configMap, paths } from '../../helpers/manifests.ts'

describe('server-side apply over HTTPS', () => {
  let server: TestServer
  let counter = 0
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const headers = { 'content-type': 'application/apply-patch+yaml' }
  const newPath = () => `${paths.configMaps}/applied-${counter++}`
  const config = (data: object, metadata: object = {}) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data })
  const apply = (path: string, body: unknown, manager = 'one', query = '') =>
    server.call('PATCH', `${path}?fieldManager=${manager}${query}`, { body, headers })

  test('an apply creates with 201, changes with 200, and the same again writes nothing', async () => {
    const path = newPath()
    const created = await apply(path, config({ a: '1' }))
    assert.equal(created.code, 201)
    const [entry] = created.body.metadata.managedFields
    assert.deepEqual(
      [entry.manager, entry.operation, entry.apiVersion, entry.fieldsType, entry.fieldsV1],
      ['one', 'Apply', 'v1', 'FieldsV1', { 'f:data': { 'f:a': {} } }],
    )
    const changed = await apply(path, config({ a: '2' }))
    assert.deepEqual([changed.code, changed.body.data], [200, { a: '2' }])
    const again = await apply(path, config({ a: '2' }))
    assert.deepEqual([again.code, again.body], [200, changed.body])
  })

  test('YAML is taken as it is', async () => {
    const text = 'apiVersion: v1\nkind: ConfigMap\ndata:\n  a: "yes"\n'
    const reply = await apply(newPath(), text)
    assert.deepEqual([reply.code, reply.body.data], [201, { a: 'yes' }])
  })

  test('a field that its only applier leaves out is removed, another owner keeps it', async () => {
    const path = newPath()
    await apply(path, config({ a: '1', b: '2', c: '3' }))
    await apply(path, config({ b: '2' }), 'two')
    const reply = await apply(path, config({ a: '1' }))
    assert.deepEqual([reply.code, reply.body.data], [200, { a: '1', b: '2' }])
  })

  test('a value of another owner is a conflict in exact words, until it is forced', async () => {
    const path = newPath()
    await apply(path, config({ a: '1', b: '2' }))
    const one = await apply(path, config({ a: 'x' }), 'two')
    assert.deepEqual([one.code, one.body.reason], [409, 'Conflict'])
    assert.equal(one.body.message, 'Apply failed with 1 conflict: conflict with "one": .data.a')
    assert.deepEqual(one.body.details.causes, [
      { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.data.a' },
    ])
    const both = await apply(path, config({ a: 'x', b: 'y' }), 'two')
    assert.equal(both.body.message, 'Apply failed with 2 conflicts: conflicts with "one":\n- .data.a\n- .data.b')
    const forced = await apply(path, config({ a: 'x' }), 'two', '&force=true')
    assert.deepEqual(forced.body.data, { a: 'x', b: '2' })
    const owners = forced.body.metadata.managedFields.map((entry: { manager: string; fieldsV1: object }) => [
      entry.manager,
      entry.fieldsV1,
    ])
    assert.deepEqual(owners, [
      ['one', { 'f:data': { 'f:b': {} } }],
      ['two', { 'f:data': { 'f:a': {} } }],
    ])
  })

  test('fields that an update wrote belong to its manager, with the version', async () => {
    const path = newPath()
    await server.call('POST', `${paths.configMaps}?fieldManager=editor`, {
      body: configMap(path.slice(path.lastIndexOf('/') + 1), { a: '1' }),
    })
    const reply = await apply(path, config({ a: '2' }), 'two')
    assert.equal(reply.body.message, 'Apply failed with 1 conflict: conflict with "editor" using v1: .data.a')
  })

  test('the same value never conflicts and is owned by both', async () => {
    const path = newPath()
    await apply(path, config({ a: '1' }))
    const reply = await apply(path, config({ a: '1' }), 'two')
    assert.deepEqual([reply.code, reply.body.metadata.managedFields.length], [200, 2])
  })

  test('an object without managed fields belongs to before-first-apply', async () => {
    const path = newPath()
    await apply(path, config({ a: '1' }))
    const cleared = await server.call('PATCH', path, {
      body: { metadata: { managedFields: [{}] } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    assert.equal(cleared.body.metadata.managedFields, undefined)
    const reply = await apply(path, config({ a: '2' }), 'two')
    assert.equal(
      reply.body.message,
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a',
    )
  })

  test('what is no configuration is refused in words', async () => {
    const long = 'm'.repeat(129)
    const table: readonly (readonly [manager: string, body: unknown, code: number, message: RegExp])[] = [
      [
        '',
        config({}),
        422,
        /^PatchOptions\.meta\.k8s\.io "" is invalid: fieldManager: Required value: is required for apply patch$/,
      ],
      [long, config({}), 422, /fieldManager: Too long/],
      ['one', { kind: 'ConfigMap' }, 400, /apiVersion must be set/],
      ['one', { apiVersion: 'v1' }, 400, /kind must be set/],
      ['one', { apiVersion: 'v2', kind: 'ConfigMap' }, 400, /does not match the expected API version/],
      ['one', config({}, { managedFields: [] }), 400, /metadata.managedFields must be nil/],
      ['one', config({}, { name: 'other' }), 400, /does not match the name on the URL/],
      ['one', '[1]', 400, /expected an object/],
      ['one', '{a: [', 400, /not valid YAML/],
      ['one', config({ a: 1 }), 400, /data.a: expected string, found integer/],
    ]
    for (const [manager, body, code, message] of table) {
      const reply = await apply(newPath(), body, manager)
      assert.equal(reply.code, code, JSON.stringify(body))
      assert.match(reply.body.message, message)
    }
  })

  test('force is only for an apply', async () => {
    const path = newPath()
    await apply(path, config({ a: '1' }))
    const merge = { body: {}, headers: { 'content-type': 'application/merge-patch+json' } }
    const reply = await server.call('PATCH', `${path}?force=true`, merge)
    assert.deepEqual([reply.code, reply.body.details.causes[0].field], [422, 'force'])
  })

  test('a dry run answers what would be and writes nothing', async () => {
    const path = newPath()
    const dry = await apply(path, config({ a: '1' }), 'one', '&dryRun=All')
    assert.deepEqual([dry.code, dry.body.data], [201, { a: '1' }])
    assert.equal((await server.call('GET', path)).code, 404)
  })

  test('a resourceVersion or uid that is not the stored one is a 409', async () => {
    const path = newPath()
    await apply(path, config({ a: '1' }))
    for (const metadata of [{ resourceVersion: '1' }, { uid: 'another' }]) {
      assert.equal((await apply(path, config({ a: '2' }, metadata))).code, 409)
    }
  })

  test('on the object the status has no owner, and on its status the rest has none', async () => {
    const path = `${paths.services}/with-status`
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
      status: { loadBalancer: { ingress: [] } },
    }
    const created = await apply(path, service)
    assert.equal(created.code, 201, created.text)
    assert.deepEqual(Object.keys(created.body.metadata.managedFields[0].fieldsV1), ['f:spec'])
    const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } }
    const changed = await apply(`${path}/status`, { ...service, spec: { clusterIP: '9.9.9.9' }, status }, 'two')
    assert.deepEqual([changed.code, changed.body.status], [200, status], changed.text)
    const entry = changed.body.metadata.managedFields.find((other: { manager: string }) => other.manager === 'two')
    assert.deepEqual([entry.subresource, Object.keys(entry.fieldsV1)], ['status', ['f:status']])
    assert.equal((await apply(`${paths.services}/none/status`, service)).code, 404)
  })

  test('at most ten updaters have entries of their own', async () => {
    const path = newPath()
    await apply(path, config({ a: '1' }))
    for (let index = 0; index < 14; index++) {
      await server.call('PATCH', `${path}?fieldManager=m${index}`, {
        body: { data: { [`k${index}`]: 'x' } },
        headers: { 'content-type': 'application/merge-patch+json' },
      })
    }
    const { body } = await server.call('GET', path)
    const managers = body.metadata.managedFields.map((entry: { manager: string }) => entry.manager)
    assert.deepEqual(
      [managers.length, managers.includes('ancient-changes'), managers.includes('one')],
      [11, true, true],
    )
  })
})
