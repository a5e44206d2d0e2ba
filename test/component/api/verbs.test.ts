import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openMemoryStore } from '../../../src/api/store/index.ts'
import { silentLogger } from '../../../src/observe/index.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { configMap, paths } from '../../helpers/manifests.ts'

describe('verbs over HTTPS', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  test('a create answers 201 with the metadata the server sets', async () => {
    const reply = await server.call('POST', paths.configMaps, {
      body: {
        ...configMap('first', { a: '1' }),
        metadata: { name: 'first', uid: 'mine', creationTimestamp: '2001-01-01T00:00:00Z', selfLink: '/old' },
      },
    })
    assert.equal(reply.code, 201)
    const { uid, creationTimestamp, resourceVersion, managedFields, ...metadata } = reply.body.metadata
    assert.deepEqual(metadata, { name: 'first', namespace: 'default' })
    assert.match(uid, /^[0-9a-f-]{36}$/)
    assert.match(creationTimestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.match(resourceVersion, /^[1-9]\d*$/)
    assert.equal(managedFields.length, 1)
    assert.deepEqual(reply.body.data, { a: '1' })
    assert.deepEqual([reply.body.kind, reply.body.apiVersion], ['ConfigMap', 'v1'])
    const got = await server.call('GET', `${paths.configMaps}/first`)
    assert.deepEqual(got.body, reply.body)
  })

  test('a second create of a name is a 409 AlreadyExists', async () => {
    await server.call('POST', paths.configMaps, { body: configMap('twice') })
    const reply = await server.call('POST', paths.configMaps, { body: configMap('twice') })
    assert.deepEqual(reply.body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'configmaps "twice" already exists',
      reason: 'AlreadyExists',
      details: { name: 'twice', kind: 'configmaps' },
      code: 409,
    })
  })

  test('generateName gets five letters and makes each create another object', async () => {
    const body = { metadata: { generateName: 'gen-' } }
    const names = new Set<string>()
    for (let index = 0; index < 5; index++) {
      const reply = await server.call('POST', paths.configMaps, { body })
      assert.match(reply.body.metadata.name, /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
      names.add(reply.body.metadata.name)
    }
    assert.equal(names.size, 5)
  })

  test('a name that is missing or bad is a 422 that says so', async () => {
    const missing = await server.call('POST', paths.configMaps, { body: { metadata: {} } })
    assert.equal(
      missing.body.message,
      'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    )
    assert.deepEqual(missing.body.details.causes, [
      {
        reason: 'FieldValueRequired',
        message: 'Required value: name or generateName is required',
        field: 'metadata.name',
      },
    ])
    const bad = await server.call('POST', paths.configMaps, { body: configMap('Bad_Name') })
    assert.equal(bad.code, 422)
    assert.match(bad.body.message, /metadata\.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must/)
  })

  test('an update with the stored resourceVersion succeeds once, the second time it is a 409', async () => {
    const created = await server.call('POST', paths.configMaps, { body: configMap('locked', { n: '0' }) })
    const first = await server.call('PUT', `${paths.configMaps}/locked`, {
      body: { ...created.body, data: { n: '1' } },
    })
    assert.equal(first.code, 200)
    const second = await server.call('PUT', `${paths.configMaps}/locked`, {
      body: { ...created.body, data: { n: '2' } },
    })
    assert.equal(second.code, 409)
    assert.equal(second.body.reason, 'Conflict')
    assert.equal(
      second.body.message,
      'Operation cannot be fulfilled on configmaps "locked": the object has been modified; please apply your changes to the latest version and try again',
    )
  })

  test('an update without a resourceVersion is unconditional and keeps what the server set', async () => {
    const created = await server.call('POST', paths.configMaps, { body: configMap('free', { n: '0' }) })
    const reply = await server.call('PUT', `${paths.configMaps}/free`, { body: configMap('free', { n: '1' }) })
    assert.equal(reply.code, 200)
    assert.equal(reply.body.metadata.uid, created.body.metadata.uid)
    assert.equal(reply.body.metadata.creationTimestamp, created.body.metadata.creationTimestamp)
    assert.deepEqual(reply.body.data, { n: '1' })
  })

  test('an update with the resourceVersion 0 is unconditional too', async () => {
    await server.call('POST', paths.configMaps, { body: configMap('zero', { n: '0' }) })
    const body = { ...configMap('zero', { n: '1' }), metadata: { name: 'zero', resourceVersion: '0' } }
    const reply = await server.call('PUT', `${paths.configMaps}/zero`, { body })
    assert.equal(reply.code, 200)
    assert.deepEqual(reply.body.data, { n: '1' })
  })

  test('an update that changes nothing keeps the revision', async () => {
    const created = await server.call('POST', paths.configMaps, { body: configMap('same', { n: '0' }) })
    const revision = server.store.revision
    const put = await server.call('PUT', `${paths.configMaps}/same`, { body: configMap('same', { n: '0' }) })
    const patch = await server.call('PATCH', `${paths.configMaps}/same`, {
      body: { data: { n: '0' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    assert.equal(put.body.metadata.resourceVersion, created.body.metadata.resourceVersion)
    assert.equal(patch.body.metadata.resourceVersion, created.body.metadata.resourceVersion)
    assert.equal(server.store.revision, revision)
  })

  test('many writers of one object without a resourceVersion all succeed', async () => {
    await server.call('POST', paths.configMaps, { body: configMap('shared') })
    const writers = Array.from({ length: 12 }, (_, index) =>
      server.call('PATCH', `${paths.configMaps}/shared`, {
        body: { data: { [`k${index}`]: 'x' } },
        headers: { 'content-type': 'application/merge-patch+json' },
      }),
    )
    assert.deepEqual(new Set((await Promise.all(writers)).map(({ code }) => code)), new Set([200]))
    const got = await server.call('GET', `${paths.configMaps}/shared`)
    assert.equal(Object.keys(got.body.data).length, 12)
  })

  test('a missing object is a 404 for every verb', async () => {
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', configMap('none')],
      ['DELETE', undefined],
    ] as const) {
      const reply = await server.call(method, `${paths.configMaps}/none`, { body })
      assert.equal(reply.code, 404, method)
      assert.equal(reply.body.message, 'configmaps "none" not found')
      assert.deepEqual(reply.body.details, { name: 'none', kind: 'configmaps' })
    }
  })

  test('a namespace that is not there is named', async () => {
    const reply = await server.call('POST', '/api/v1/namespaces/nowhere/configmaps', { body: configMap('x') })
    assert.deepEqual([reply.code, reply.body.message], [404, 'namespaces "nowhere" not found'])
  })

  test('names in the body must agree with the URL', async () => {
    const elsewhere = { ...configMap('x'), metadata: { name: 'x', namespace: 'other' } }
    const namespace = await server.call('POST', paths.configMaps, { body: elsewhere })
    assert.equal(namespace.code, 400)
    assert.match(namespace.body.message, /the namespace of the provided object does not match/)
    await server.call('POST', paths.configMaps, { body: configMap('named') })
    const name = await server.call('PUT', `${paths.configMaps}/named`, { body: configMap('other') })
    assert.equal(name.body.message, 'the name of the object (other) does not match the name on the URL (named)')
    const headers = { 'content-type': 'application/merge-patch+json' }
    for (const metadata of [{ name: 'other' }, { namespace: 'other' }]) {
      const patched = await server.call('PATCH', `${paths.configMaps}/named`, { body: { metadata }, headers })
      assert.equal(patched.code, 400)
      assert.match(patched.body.message, /the name(space)? of the .*object.* does not match the name(space)? (on|sent)/)
    }
    const version = await server.call('POST', paths.configMaps, { body: { ...configMap('v'), apiVersion: 'v2' } })
    assert.equal(version.body.message, 'the API version in the data (v2) does not match the expected API version (v1)')
  })

  test('delete answers a Status with the uid, and the name is free again', async () => {
    const created = await server.call('POST', paths.configMaps, { body: configMap('gone') })
    const reply = await server.call('DELETE', `${paths.configMaps}/gone`, { body: { propagationPolicy: 'Background' } })
    assert.deepEqual(reply.body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'gone', kind: 'configmaps', uid: created.body.metadata.uid },
    })
    assert.equal((await server.call('POST', paths.configMaps, { body: configMap('gone') })).code, 201)
  })

  test('delete preconditions that do not hold are a 409', async () => {
    await server.call('POST', paths.configMaps, { body: configMap('guarded') })
    const reply = await server.call('DELETE', `${paths.configMaps}/guarded`, { body: { preconditions: { uid: 'x' } } })
    assert.equal(reply.code, 409)
    assert.match(reply.body.message, /Precondition failed: UID in precondition: x, UID in object meta: /)
    assert.equal((await server.call('GET', `${paths.configMaps}/guarded`)).code, 200)
  })

  test('finalizers keep a deleted object until the last one goes', async () => {
    const body = { metadata: { name: 'kept', finalizers: ['example.com/hold'] } }
    await server.call('POST', paths.configMaps, { body })
    const deleted = await server.call('DELETE', `${paths.configMaps}/kept`)
    assert.equal(deleted.code, 200)
    assert.equal(deleted.body.kind, 'ConfigMap')
    assert.match(deleted.body.metadata.deletionTimestamp, /Z$/)
    assert.equal(deleted.body.metadata.deletionGracePeriodSeconds, 0)
    const headers = { 'content-type': 'application/merge-patch+json' }
    const more = { metadata: { finalizers: ['example.com/hold', 'example.com/more'] } }
    const refused = await server.call('PATCH', `${paths.configMaps}/kept`, { body: more, headers })
    assert.equal(refused.code, 422)
    assert.match(refused.body.message, /no new finalizers can be added if the object is being deleted/)
    await server.call('PATCH', `${paths.configMaps}/kept`, { body: { metadata: { finalizers: null } }, headers })
    assert.equal((await server.call('GET', `${paths.configMaps}/kept`)).code, 404)
  })

  test('deletecollection takes what the selector matches and nothing else', async () => {
    for (const name of ['sweep-1', 'sweep-2']) {
      await server.call('POST', paths.configMaps, { body: configMap(name, {}, { sweep: 'yes' }) })
    }
    await server.call('POST', paths.configMaps, { body: configMap('stays') })
    const reply = await server.call('DELETE', `${paths.configMaps}?labelSelector=sweep%3Dyes`)
    assert.equal(reply.body.items.length, 2)
    assert.equal((await server.call('GET', `${paths.configMaps}/sweep-1`)).code, 404)
    assert.equal((await server.call('GET', `${paths.configMaps}/stays`)).code, 200)
  })

  test('a dry run answers as the write would and writes nothing', async () => {
    const revision = server.store.revision
    const created = await server.call('POST', `${paths.configMaps}?dryRun=All`, { body: configMap('dry') })
    assert.equal(created.code, 201)
    assert.equal((await server.call('GET', `${paths.configMaps}/dry`)).code, 404)
    assert.equal(server.store.revision, revision)
  })

  test('status and spec are written apart: each side ignores the other', async () => {
    const pod = {
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i' }] },
      status: { phase: 'Failed' },
    }
    const created = await server.call('POST', paths.pods, { body: pod })
    assert.deepEqual(created.body.status, { phase: 'Pending', qosClass: 'BestEffort' })
    assert.equal(created.body.metadata.generation, 1)
    const status = await server.call('PUT', `${paths.pods}/p/status`, {
      body: {
        metadata: { name: 'p', labels: { owner: 'kubelet' } },
        spec: { containers: [] },
        status: { phase: 'Running', podIP: '10.244.0.5' },
      },
    })
    assert.equal(status.code, 200)
    assert.deepEqual(status.body.status, { phase: 'Running', podIP: '10.244.0.5' })
    assert.deepEqual(status.body.metadata.labels, { owner: 'kubelet' })
    assert.equal(status.body.metadata.generation, 1)
    assert.equal(status.body.spec.containers.length, 1)
    const main = await server.call('PATCH', `${paths.pods}/p`, {
      body: { spec: { nodeName: 'n1' }, status: { phase: 'Failed' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    })
    assert.equal(main.body.status.phase, 'Running')
    assert.equal(main.body.metadata.generation, 2)
  })

  test('a namespace takes its contents with it', async () => {
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'doomed' } } })
    await server.call('POST', '/api/v1/namespaces/doomed/configmaps', { body: configMap('inside') })
    const made = await server.call('POST', '/api/v1/namespaces/doomed/services', {
      body: { metadata: { name: 'inside' }, spec: { clusterIP: '10.96.0.77', ports: [{ port: 80 }] } },
    })
    assert.equal(made.code, 201)
    assert.equal((await server.call('DELETE', '/api/v1/namespaces/doomed')).code, 200)
    const list = await server.call('GET', '/api/v1/namespaces/doomed/configmaps')
    assert.deepEqual(list.body.items, [])
    const reuse = await server.call('POST', paths.services, {
      body: { metadata: { name: 'reuse' }, spec: { clusterIP: '10.96.0.77', ports: [{ port: 80 }] } },
    })
    assert.equal(reuse.code, 201)
  })

  test('every cluster starts with its namespaces and the kubernetes Service', async () => {
    for (const name of ['default', 'kube-system']) {
      const reply = await server.call('GET', `/api/v1/namespaces/${name}`)
      assert.equal(reply.body.status.phase, 'Active')
      assert.equal(reply.body.metadata.labels['kubernetes.io/metadata.name'], name)
    }
    const refused = await server.call('DELETE', '/api/v1/namespaces/default')
    assert.equal(refused.code, 403)
    assert.equal(refused.body.message, 'namespaces "default" is forbidden: this namespace may not be deleted')
    const kubernetes = await server.call('GET', `${paths.services}/kubernetes`)
    assert.equal(kubernetes.body.spec.clusterIP, '10.96.0.1')
  })
})

test('the deletions of a deletecollection wait for the disk together', async () => {
  const store = openMemoryStore({ log: silentLogger })
  const commit: typeof store.commit = store.commit.bind(store)
  let waiting = 0
  let most = 0
  await using server = await startTestServer({ store })
  const made = Array.from({ length: 40 }, (_, index) =>
    server.call('POST', paths.configMaps, { body: configMap(`m${index}`) }),
  )
  await Promise.all(made)
  const slowCommit: typeof store.commit = async (writes) => {
    waiting += 1
    most = Math.max(most, waiting)
    await sleep(5)
    waiting -= 1
    return commit(writes)
  }
  Object.assign(store, { commit: slowCommit })
  assert.equal((await server.call('DELETE', paths.configMaps)).code, 200)
  assert.equal((await server.call('GET', paths.configMaps)).body.items.length, 0)
  assert.ok(most >= 16 && most <= 32, `${most} at a time`)
})
