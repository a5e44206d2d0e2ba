import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { definition, spec } from '../../../helpers/definitions.ts'

const merge = { 'content-type': 'application/merge-patch+json' }
const apply = { 'content-type': 'application/apply-patch+yaml' }
const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }

describe('scale', () => {
  const widgets = '/apis/example.com/v1/namespaces/default/widgets'
  let server: TestServer
  before(async () => {
    server = await startTestServer()
    await server.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body: withSelectorObject() })
  })
  after(() => server.stop())

  test('a selector that is no text is a 500 that names its field', async () => {
    await server.call('POST', widgets, { body: spec('odd', { replicas: 1 }) })
    const status = { status: { selector: { matchLabels: { a: 'b' } } } }
    assert.equal((await server.call('PATCH', `${widgets}/odd/status`, { body: status, headers: merge })).code, 200)
    const { code, body } = await server.call('GET', `${widgets}/odd/scale`)
    assert.equal(code, 500)
    assert.match(body.message, /the label selector field "\.status\.selector" must be a string/)
  })

  test('a body of another kind is no Scale', async () => {
    await server.call('POST', widgets, { body: spec('kindly', { replicas: 1 }) })
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'kindly' }, spec: { replicas: 3 } }
    const reply = await server.call('PUT', `${widgets}/kindly/scale`, { body })
    assert.deepEqual([reply.code, reply.body.reason], [400, 'BadRequest'])
  })

  test('a Table shows what is desired and what there is', async () => {
    await server.call('POST', widgets, { body: spec('shown', { replicas: 3 }) })
    const { body } = await server.call('GET', `${widgets}/shown/scale`, { headers: table })
    assert.equal(body.kind, 'Table')
    const columns = body.columnDefinitions.map(({ name, type }: Record<string, string>) => `${name} ${type}`)
    assert.deepEqual(columns, ['Name string', 'Desired integer', 'Available integer', 'Age string'])
    assert.deepEqual(body.rows[0].cells.slice(0, 3), ['shown', 3, 0])
  })

  test('who writes a Scale owns the replicas of the object, under its own path', async () => {
    await server.call('POST', `${widgets}?fieldManager=author`, { body: spec('owned', { replicas: 1, size: 2 }) })
    const body = { spec: { replicas: 4 } }
    const path = `${widgets}/owned/scale?fieldManager=scaler`
    assert.equal((await server.call('PATCH', path, { body, headers: merge })).code, 200)
    assert.deepEqual(await ownersOf(server, `${widgets}/owned`), [
      'author Update example.com/v1 : colour size',
      'scaler Update example.com/v1 scale: replicas',
    ])
  })

  test('a Scale is applied: a conflict names the owner, force takes over, an apply of the object then conflicts', async () => {
    await server.call('POST', `${widgets}?fieldManager=author`, { body: spec('applied', { replicas: 1, size: 2 }) })
    const path = `${widgets}/applied/scale?fieldManager=scaler`
    const conflict = await server.call('PATCH', path, { body: scale(5), headers: apply })
    assert.equal(conflict.code, 409)
    assert.match(conflict.body.message, /conflict with "author" using example.com\/v1: \.spec\.replicas/)
    const forced = await server.call('PATCH', `${path}&force=true`, { body: scale(5), headers: apply })
    assert.equal(forced.code, 200)
    assert.equal(`${forced.body.kind} ${forced.body.spec.replicas}`, 'Scale 5')
    assert.deepEqual(await ownersOf(server, `${widgets}/applied`), [
      'scaler Apply example.com/v1 scale: replicas',
      'author Update example.com/v1 : colour size',
    ])
    assert.equal((await server.call('PATCH', path, { body: scale(6), headers: apply })).body.spec.replicas, 6)
    const body = spec('applied', { replicas: 9 })
    const other = await server.call('PATCH', `${widgets}/applied?fieldManager=other`, { body, headers: apply })
    assert.equal(other.code, 409)
    assert.match(other.body.message, /conflict with "scaler" with subresource "scale": \.spec\.replicas/)
  })

  test('an applied Scale must be one, with replicas, of an object that is there', async () => {
    const send = (name: string, body: unknown) =>
      server.call('PATCH', `${widgets}/${name}/scale?fieldManager=scaler`, { body, headers: apply })
    await server.call('POST', widgets, { body: spec('there', { replicas: 1 }) })
    assert.equal((await send('absent', scale(1))).code, 404)
    assert.equal((await send('there', spec('there', { replicas: 2 }))).code, 400)
    const empty = await send('there', { ...scale(1), spec: {} })
    assert.equal(empty.code, 422)
    assert.match(empty.body.message, /spec.replicas: Required value/)
    assert.equal((await send('there', scale(-1))).code, 422)
    const unnamed = await server.call('PATCH', `${widgets}/there/scale`, { body: scale(1), headers: apply })
    assert.equal(unnamed.code, 422)
    const stale = { ...scale(2), metadata: { resourceVersion: '1' } }
    assert.equal((await send('there', stale)).code, 409)
    assert.equal((await server.call('GET', `${widgets}/there`)).body.spec.replicas, 1)
  })

  for (const [kind, plural] of [
    ['Deployment', 'deployments'],
    ['ReplicaSet', 'replicasets'],
    ['StatefulSet', 'statefulsets'],
  ]) {
    test(`a ${kind} scales`, async () => {
      const collection = `/apis/apps/v1/namespaces/default/${plural}`
      const created = await server.call('POST', collection, { body: workload() })
      assert.equal(created.code, 201, created.text)
      const { body } = await server.call('GET', `${collection}/web/scale`)
      assert.deepEqual([body.spec, body.status], [{ replicas: 1 }, { replicas: 0, selector: 'app=web' }])
      const put = await server.call('PUT', `${collection}/web/scale`, { body: { ...body, spec: { replicas: 4 } } })
      assert.equal(put.body.spec.replicas, 4)
      assert.equal((await server.call('GET', `${collection}/web`)).body.spec.replicas, 4)
      const { body: list } = await server.call('GET', '/apis/apps/v1')
      const entry = list.resources.find(({ name }: { name: string }) => name === `${plural}/scale`)
      assert.equal(`${entry.group}/${entry.version} ${entry.kind}`, 'autoscaling/v1 Scale')
    })
  }

  test('a DaemonSet does not scale', async () => {
    assert.equal((await server.call('GET', '/apis/apps/v1/namespaces/default/daemonsets/web/scale')).code, 404)
  })
})

function scale(replicas: number) {
  return { apiVersion: 'autoscaling/v1', kind: 'Scale', spec: { replicas } }
}

function workload() {
  const labels = { app: 'web' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web:1' }] } }
  return { metadata: { name: 'web' }, spec: { selector: { matchLabels: labels }, serviceName: 'web', template } }
}

/** A definition whose status may hold anything as a selector. */
function withSelectorObject() {
  const body = definition()
  const [version] = body.spec.versions
  const status = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const schema = version?.schema.openAPIV3Schema
  const openAPIV3Schema = { ...schema, properties: { ...schema?.properties, status } }
  return { ...body, spec: { ...body.spec, versions: [{ ...version, schema: { openAPIV3Schema } }] } }
}

async function ownersOf(server: TestServer, path: string): Promise<string[]> {
  const { body } = await server.call('GET', path)
  return body.metadata.managedFields
    .filter(({ fieldsV1 }: { fieldsV1: object }) => 'f:spec' in fieldsV1)
    .map(({ manager, operation, apiVersion, subresource = '', fieldsV1 }: Record<string, string | object>) => {
      const fields = Object.keys((fieldsV1 as Record<string, object>)['f:spec'] ?? {}).filter((key) => key !== '.')
      return `${manager} ${operation} ${apiVersion} ${subresource}: ${fields.map((key) => key.slice(2)).join(' ')}`
    })
}
