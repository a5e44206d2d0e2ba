import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { openStore } from '../../../../src/api/store/index.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { definition, spec } from '../../../helpers/definitions.ts'
import { untilAsync } from '../../../helpers/until.ts'

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const widgets = '/apis/example.com/v1/namespaces/default/widgets'

describe('definitions', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  const define = (body: unknown) => server.call('POST', definitions, { body })

  test('of definitions that want one name in the same moment one gets it, and the next one once it is gone', async () => {
    const wanting = Array.from({ length: 24 }, (_, index) => {
      const body = definition(`rivals${index}`, `Rival${index}`)
      body.spec.names.shortNames = ['rv']
      return body
    })
    const replies = await Promise.all(wanting.map(define))
    assert.deepEqual([...new Set(replies.map(({ code }) => code))], [201])
    const holders = () => server.call('GET', definitions).then(({ body }) => body.items.filter(isEstablished))
    const [holder, ...others] = await holders()
    assert.equal(others.length, 0)
    await server.call('DELETE', `${definitions}/${holder.metadata.name}`)
    await untilAsync('another one takes its place', async () => {
      const [next, ...more] = await holders()
      return next !== undefined && next.metadata.name !== holder.metadata.name && more.length === 0
    })
  })

  test('many definitions without a name in common are all accepted at once', async () => {
    const bodies = Array.from({ length: 40 }, (_, index) => definition(`many${index}`, `Many${index}`))
    const replies = await Promise.all(bodies.map(define))
    assert.ok(replies.every(({ code, body }) => code === 201 && isEstablished(body)))
  })

  test('while a definition waits for its instances, discovery offers only reading and deleting', async () => {
    assert.equal((await define(definition('leaving', 'Leaving'))).code, 201)
    const leaving = '/apis/example.com/v1/namespaces/default/leaving'
    const held = { ...spec('held', {}, 'Leaving'), metadata: { name: 'held', finalizers: ['example.com/hold'] } }
    assert.equal((await server.call('POST', leaving, { body: held })).code, 201)
    assert.ok((await verbsOf('leaving')).includes('create'))
    await server.call('DELETE', `${definitions}/leaving.example.com`)
    assert.deepEqual(await verbsOf('leaving'), ['delete', 'deletecollection', 'get', 'list', 'watch'])
  })

  test('$ref is a 422 that names its place', async () => {
    const { code, body } = await define(withSpecSchema('refs', 'Ref', { $ref: '#/definitions/x' }))
    assert.equal(code, 422)
    const field = 'spec.validation.openAPIV3Schema.properties[spec].$ref'
    const cause = body.details.causes.find((each: { field: string }) => each.field === field)
    assert.match(cause?.message ?? JSON.stringify(body.details.causes), /Forbidden: \$ref is not supported/)
  })

  for (const dialect of ['kubernetes', 'platform']) {
    test(`CEL rules in the ${dialect} spelling hold and are kept as they came`, async () => {
      const rules = [{ rule: '!has(self.size) || self.size > 3' }]
      const body = withSpecSchema(`${dialect}rules`, `${dialect}Rule`, {
        type: 'object',
        properties: { size: { type: 'integer' } },
        [`x-${dialect}-validations`]: rules,
      })
      const reply = await define(body)
      assert.equal(reply.code, 201, reply.text)
      assert.equal(reply.headers['warning'], undefined)
      const [version] = reply.body.spec.versions
      assert.deepEqual(version.schema.openAPIV3Schema.properties.spec[`x-${dialect}-validations`], rules)
    })
  }

  async function verbsOf(plural: string): Promise<string[]> {
    const { body } = await server.call('GET', '/apis/example.com/v1')
    return body.resources.find(({ name }: { name: string }) => name === plural).verbs
  }
})

test('what was defined is served as soon as a server comes back, and its numbers are those that were written', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'plt-'))
  const open = () => openStore({ path: join(folder, 'store.db'), dialect: 'kubernetes', log: silentLogger })
  const raw = '"raw":{"big":12345678901234567890,"decimal":1.10,"power":1e3}'
  try {
    const first = await startTestServer({ store: await open() })
    assert.equal((await first.call('POST', definitions, { body: definition() })).code, 201)
    const body = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"kept"},"spec":{${raw}}}`
    assert.equal((await first.call('POST', widgets, { body })).code, 201)
    await first.stop()
    await using second = await startTestServer({ store: await open() })
    const { code, text } = await second.call('GET', `${widgets}/kept`)
    assert.equal(code, 200)
    assert.ok(text.includes(raw), text)
    assert.equal((await second.call('POST', widgets, { body: spec('new', {}) })).code, 201)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('watch events show numbers as they were written', async () => {
  await using server = await startTestServer()
  await server.call('POST', definitions, { body: definition() })
  const raw = '"raw":{"big":12345678901234567890,"decimal":1.10,"power":1e3}'
  const body = `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"exact"},"spec":{${raw}}}`
  assert.equal((await server.call('POST', widgets, { body })).code, 201)
  const patch = { body: { spec: { size: 4 } }, headers: { 'content-type': 'application/merge-patch+json' } }
  assert.equal((await server.call('PATCH', `${widgets}/exact`, patch)).code, 200)
  const revision = (await server.call('GET', `${widgets}/exact`)).body.metadata.resourceVersion
  const watchFrom = (from: string) => server.call('GET', `${widgets}?watch=true&timeoutSeconds=1${from}`)
  const watched = await Promise.all(['', `&resourceVersion=${Number(revision) - 1}`].map(watchFrom))
  for (const { text } of watched) assert.ok(text.includes(raw), text)
})

test('the metadata of embedded resources is pruned, its types and texts are checked, nothing else of them changes', async () => {
  await using server = await startTestServer()
  const template = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  }
  const properties = { template, list: { type: 'array', items: template } }
  await server.call('POST', definitions, {
    body: withSpecSchema('widgets', 'Widget', { type: 'object', properties }),
  })
  const embedded = (metadata: unknown) => ({ apiVersion: 'v1', kind: 'Thing', metadata, own: { any: 1 } })
  const metadata = { name: 'a', labels: { b: 'c' }, creationTimestamp: null, unknown: 1 }
  const fields = { template: embedded(metadata), list: [embedded(metadata)] }
  const { code, body } = await server.call('POST', widgets, { body: spec('e', fields) })
  assert.equal(code, 201)
  const kept = embedded({ name: 'a', labels: { b: 'c' } })
  assert.deepEqual(body.spec, { template: kept, list: [kept] })
  const wrong = await server.call('POST', widgets, { body: spec('w', { list: [embedded({ labels: { b: 1 } })] }) })
  assert.equal(wrong.code, 400)
  assert.match(wrong.body.message, /spec\.list\[0\]\.metadata\.labels\.b: expected string, found integer/)
  const refused = { name: 'a/b', labels: { '-b': 'c' }, finalizers: ['x y'] }
  const { code: refusal, body: why } = await server.call('POST', widgets, {
    body: spec('r', { template: embedded(refused) }),
  })
  assert.equal(refusal, 422)
  const inMetadata = ['name', 'labels', 'finalizers'].map((field) => `spec.template.metadata.${field}`)
  assert.deepEqual(
    why.details.causes.map(({ field }: { field: string }) => field),
    inMetadata,
  )
})

function withSpecSchema(plural: string, kind: string, schema: object) {
  const body = definition(plural, kind)
  const [version] = body.spec.versions
  const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'object', ...schema } } }
  return {
    ...body,
    spec: { ...body.spec, versions: [{ ...version, schema: { openAPIV3Schema }, selectableFields: [] }] },
  }
}

interface Conditioned {
  readonly status: { readonly conditions: readonly { readonly type: string; readonly status: string }[] }
}

function isEstablished({ status }: Conditioned): boolean {
  return status.conditions.some((each) => each.type === 'Established' && each.status === 'True')
}
