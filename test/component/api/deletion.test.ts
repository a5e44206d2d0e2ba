import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { configMap, paths } from '../../helpers/manifests.ts'

const headers = { 'content-type': 'application/merge-patch+json' }

describe('deletion', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const pod = (name: string, spec: Record<string, unknown> = {}) =>
    server.call('POST', paths.pods, {
      body: { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }], ...spec } },
    })
  const remove = (path: string, body?: Record<string, unknown>) => server.call('DELETE', path, { body })

  test('a Pod on a node waits for its node, which ends the grace with a delete of zero seconds', async () => {
    await pod('bound', { nodeName: 'n1', terminationGracePeriodSeconds: 50 })
    const beforeMs = Date.now()
    const marked = await remove(`${paths.pods}/bound`)
    const { deletionTimestamp, deletionGracePeriodSeconds, generation } = marked.body.metadata
    assert.deepEqual([marked.code, deletionGracePeriodSeconds, generation], [200, 50, 2])
    assert.ok(Date.parse(deletionTimestamp) >= beforeMs + 49_000, 'the time at which the grace ends')
    const again = await remove(`${paths.pods}/bound`)
    assert.equal(again.body.metadata.resourceVersion, marked.body.metadata.resourceVersion)
    const status = await server.call('PATCH', `${paths.pods}/bound/status`, {
      body: { status: { phase: 'Running' } },
      headers,
    })
    assert.equal(status.body.status.phase, 'Running', 'an update does not end the grace')
    const shorter = await remove(`${paths.pods}/bound`, { gracePeriodSeconds: 5 })
    assert.deepEqual([shorter.body.metadata.deletionGracePeriodSeconds, shorter.body.metadata.generation], [5, 2])
    const longer = await remove(`${paths.pods}/bound`, { gracePeriodSeconds: 40 })
    assert.equal(longer.body.metadata.deletionGracePeriodSeconds, 5)
    const gone = await server.call('DELETE', `${paths.pods}/bound?gracePeriodSeconds=0`)
    assert.equal(gone.body.kind, 'Pod')
    assert.equal((await server.call('GET', `${paths.pods}/bound`)).code, 404)
  })

  test('a Pod without a node, and one that has ended, go at once', async () => {
    await pod('free')
    const { body } = await remove(`${paths.pods}/free`)
    assert.deepEqual([body.kind, body.metadata.name, body.metadata.deletionGracePeriodSeconds], ['Pod', 'free', 0])
    await pod('ended', { nodeName: 'n1' })
    await server.call('PATCH', `${paths.pods}/ended/status`, { body: { status: { phase: 'Succeeded' } }, headers })
    assert.equal((await remove(`${paths.pods}/ended`)).body.kind, 'Pod')
    assert.equal((await server.call('GET', `${paths.pods}/ended`)).code, 404)
  })

  test('a delete answers with the object where Kubernetes does, and with a Status elsewhere', async () => {
    const bodies = {
      services: { metadata: { name: 'shown' }, spec: { ports: [{ port: 80 }] } },
      serviceaccounts: { metadata: { name: 'shown' } },
      configmaps: { metadata: { name: 'shown' } },
    }
    const kinds: string[] = []
    for (const [plural, body] of Object.entries(bodies)) {
      const path = `/api/v1/namespaces/default/${plural}`
      const { body: made } = await server.call('POST', path, { body })
      const deleted = (await server.call('DELETE', `${path}/shown`)).body
      kinds.push(deleted.kind)
      assert.equal(deleted.metadata.uid ?? deleted.details.uid, made.metadata.uid)
      assert.equal((await server.call('GET', `${path}/shown`)).code, 404)
    }
    assert.deepEqual(kinds, ['Service', 'ServiceAccount', 'Status'])
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'shown' } } })
    const { body: namespace } = await server.call('DELETE', '/api/v1/namespaces/shown')
    assert.deepEqual([namespace.kind, namespace.status.phase], ['Namespace', 'Terminating'])
  })

  test('the propagation policy becomes a finalizer that the garbage collector takes away', async () => {
    const path = (name: string) => `${paths.configMaps}/${name}`
    for (const [name, options, finalizers] of [
      ['fore', { propagationPolicy: 'Foreground' }, ['foregroundDeletion']],
      ['orphans', { propagationPolicy: 'Orphan' }, ['orphan']],
      ['old-words', { orphanDependents: true }, ['orphan']],
    ] as const) {
      await server.call('POST', paths.configMaps, { body: configMap(name) })
      const kept = await remove(path(name), options)
      assert.deepEqual([kept.code, kept.body.metadata.finalizers], [200, finalizers], name)
    }
    assert.equal((await remove(path('fore'), { propagationPolicy: 'Background' })).body.kind, 'Status')
    const both = await remove(path('orphans'), { propagationPolicy: 'Orphan', orphanDependents: true })
    assert.equal(both.code, 422)
    assert.match(
      both.body.message,
      /^DeleteOptions\.meta\.k8s\.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDepend/,
    )
    const sideways = await remove(path('orphans'), { propagationPolicy: 'Sideways' })
    assert.equal(sideways.code, 422)
    assert.match(
      sideways.body.message,
      /propagationPolicy: Unsupported value: "Sideways": supported values: "Foreground"/,
    )
    const dry = await server.call('DELETE', `${path('orphans')}?dryRun=Some`)
    assert.match(dry.body.message, /dryRun: Unsupported value: \["Some"\]: supported values: "All"/)
  })

  test('a delete that keeps the object is a 202 when orphanDependents=false was asked for', async () => {
    await server.call('POST', paths.configMaps, { body: { metadata: { name: 'held', finalizers: ['example.com/x'] } } })
    assert.equal((await remove(`${paths.configMaps}/held`, { orphanDependents: false })).code, 202)
  })

  test('a namespace whose contents have finalizers stays Terminating until they are gone', async () => {
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'slow' } } })
    const maps = '/api/v1/namespaces/slow/configmaps'
    await server.call('POST', maps, { body: { metadata: { name: 'kept', finalizers: ['example.com/hold'] } } })
    await server.call('POST', maps, { body: configMap('plain') })
    const ending = await remove('/api/v1/namespaces/slow')
    assert.deepEqual([ending.body.status.phase, ending.body.spec.finalizers], ['Terminating', ['kubernetes']])
    const left = (await server.call('GET', maps)).body.items
    assert.deepEqual([left.length, left[0].metadata.name], [1, 'kept'])
    assert.ok(left[0].metadata.deletionTimestamp)
    const refused = await server.call('POST', maps, { body: configMap('late') })
    assert.deepEqual([refused.code, refused.body.details.causes[0].reason], [403, 'NamespaceTerminating'])
    await server.call('PATCH', `${maps}/kept`, { body: { metadata: { finalizers: null } }, headers })
    assert.equal((await server.call('GET', '/api/v1/namespaces/slow')).code, 404)
  })

  test('a dry run of a delete says what would be and changes nothing', async () => {
    await pod('stays', { nodeName: 'n1' })
    const reply = await server.call('DELETE', `${paths.pods}/stays?dryRun=All`)
    assert.ok(reply.body.metadata.deletionTimestamp)
    assert.equal((await server.call('GET', `${paths.pods}/stays`)).body.metadata.deletionTimestamp, undefined)
  })
})
