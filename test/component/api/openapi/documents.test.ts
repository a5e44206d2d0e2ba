import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { readWireFields } from '../../../../src/api/decode/protobuf-wire.ts'
import { OpenApiDocuments } from '../../../../src/api/openapi/open-api-documents.ts'
import { configMaps } from '../../../../src/api/resources/config-maps.ts'
import { Registry } from '../../../../src/api/resources/registry.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { richDefinition } from '../../../helpers/rich-definition.ts'

/** The length-delimited fields of a protobuf message, by number. */
function fieldsOf(bytes: Uint8Array): ReadonlyMap<number, readonly Uint8Array[]> {
  const fields = new Map<number, Uint8Array[]>()
  for (const { number, value } of readWireFields(bytes))
    if (typeof value !== 'bigint') fields.set(number, [...(fields.get(number) ?? []), value])
  return fields
}

function first(values: readonly Uint8Array[] | undefined): Uint8Array {
  return values?.[0] ?? new Uint8Array()
}

function textIn(values: readonly Uint8Array[] | undefined): string {
  return Buffer.from(first(values)).toString()
}

describe('the documents under /openapi', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ dialect: 'platform' })
  })
  after(async () => server.stop())

  const linkOf = async (name: string): Promise<string> =>
    (await server.call('GET', '/openapi/v3')).body.paths[name].serverRelativeURL

  test('each group and version has a document that may be kept for ever under its hash', async () => {
    const link = await linkOf('apis/discovery.platform.internal/v1')
    const reply = await server.call('GET', link)
    assert.equal(reply.headers['cache-control'], 'public, immutable, max-age=31536000')
    const schema = reply.body.components.schemas['internal.platform.discovery.v1.EndpointSlice']
    const gvk = [{ group: 'discovery.platform.internal', version: 'v1', kind: 'EndpointSlice' }]
    assert.deepEqual(schema['x-kubernetes-group-version-kind'], gvk)
    assert.deepEqual(schema['x-platform-group-version-kind'], gvk)
    const headers = { 'if-none-match': reply.headers.etag ?? '' }
    assert.equal((await server.call('GET', link, { headers })).code, 304)
  })

  test('an old hash leads to the present document', async () => {
    const reply = await server.call('GET', '/openapi/v3/api/v1?hash=old')
    assert.deepEqual([reply.code, reply.headers.location], [301, await linkOf('api/v1')])
  })

  test('every write says that it takes fieldValidation, as kubectl wants to know', async () => {
    const { paths } = (await server.call('GET', await linkOf('api/v1'))).body
    const item = paths['/api/v1/namespaces/{namespace}/pods/{name}']
    for (const method of ['put', 'patch']) {
      assert.ok(
        item[method].parameters.some((parameter: { name: string }) => parameter.name === 'fieldValidation'),
        method,
      )
      assert.deepEqual(item[method]['x-kubernetes-group-version-kind'], { group: '', version: 'v1', kind: 'Pod' })
    }
    assert.equal(paths['/api/v1/namespaces/{namespace}/pods'].get['x-kubernetes-action'], 'list')
  })

  test('paths that connect with an object have its methods and parameters, and answer text', async () => {
    const { paths } = (await server.call('GET', await linkOf('api/v1'))).body
    const namesOf = (item: { parameters: { name: string }[] }) => item.parameters.map(({ name }) => name)
    const pod = '/api/v1/namespaces/{namespace}/pods/{name}'
    const { parameters: _, ...exec } = paths[`${pod}/exec`]
    assert.deepEqual(Object.keys(exec), ['get', 'post'])
    assert.deepEqual(namesOf(paths[`${pod}/exec`]), [
      ...['namespace', 'name', 'command', 'container', 'stderr', 'stdin', 'stdout', 'tty'],
    ])
    assert.equal(exec.get.operationId, 'connectCoreV1GetNamespacedPodExec')
    assert.deepEqual(exec.get.responses[200].content, { '*/*': { schema: { type: 'string' } } })
    const proxy = paths['/api/v1/nodes/{name}/proxy/{path}']
    assert.equal(proxy.head.operationId, 'connectCoreV1HeadNodeProxyWithPath')
    assert.equal(paths[`${pod}/log`].get.operationId, 'readCoreV1NamespacedPodLog')
    const v2 = (await server.call('GET', '/openapi/v2')).body.paths
    assert.deepEqual(v2[`${pod}/log`].get.responses[200].schema, { type: 'string' })
  })

  test('a review can only be created', async () => {
    const { paths } = (await server.call('GET', await linkOf('apis/authorization.platform.internal/v1'))).body
    const review = '/apis/authorization.platform.internal/v1/selfsubjectaccessreviews'
    assert.deepEqual(Object.keys(paths[review]), ['post'])
    assert.equal(paths[`${review}/{name}`], undefined)
  })

  test('v2 is there as JSON', async () => {
    const { body } = await server.call('GET', '/openapi/v2')
    assert.equal(body.definitions['core.v1.Pod'].properties.status.$ref, '#/definitions/core.v1.PodStatus')
    assert.doesNotMatch(JSON.stringify(body), /components\/schemas/)
    const headers = { accept: 'application/xml' }
    assert.equal((await server.call('GET', '/openapi/v2', { headers })).code, 406)
  })

  test('v2 is there as protobuf, under both names that clients know, with every definition and its kind', async () => {
    const { definitions, paths } = (await server.call('GET', '/openapi/v2')).body
    for (const version of ['v2@v1.0', 'v2.v1.0']) {
      const headers = { accept: `application/com.github.proto-openapi.spec.${version}+protobuf` }
      const reply = await server.call('GET', '/openapi/v2', { headers })
      assert.equal(reply.headers['content-type'], 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf')
      const document = fieldsOf(reply.bytes)
      assert.equal(textIn(document.get(1)), '2.0')
      const pathEntries = fieldsOf(first(document.get(8))).get(2) ?? []
      assert.deepEqual(pathEntries.map((entry) => textIn(fieldsOf(entry).get(1))).sort(), Object.keys(paths).sort())
      const entries = fieldsOf(first(document.get(9))).get(1) ?? []
      const schemas = new Map(
        entries.map((entry) => [textIn(fieldsOf(entry).get(1)), fieldsOf(first(fieldsOf(entry).get(2)))]),
      )
      assert.deepEqual([...schemas.keys()].sort(), Object.keys(definitions).sort())
      const extensions = schemas.get('core.v1.Pod')?.get(31)?.map(fieldsOf) ?? []
      assert.deepEqual(
        extensions.map((extension) => [textIn(extension.get(1)), textIn(fieldsOf(first(extension.get(2))).get(2))]),
        ['kubernetes', 'platform'].map((name) => [
          `x-${name}-group-version-kind`,
          '[{"group":"","version":"v1","kind":"Pod"}]',
        ]),
      )
    }
  })

  test('a long document comes compressed to those who take that, and only to them', async () => {
    const plain = await server.call('GET', '/openapi/v2')
    assert.equal(plain.headers['content-encoding'], undefined)
    assert.equal(plain.headers.vary, 'accept-encoding')
    const packed = await server.call('GET', '/openapi/v2', { headers: { 'accept-encoding': 'gzip;q=1.0, br' } })
    assert.equal(packed.headers['content-encoding'], 'gzip')
    assert.equal(gunzipSync(packed.bytes).toString(), plain.text)
    const refused = await server.call('GET', '/openapi/v2', { headers: { 'accept-encoding': 'gzip;q=0' } })
    assert.equal(refused.headers['content-encoding'], undefined)
  })

  for (const path of ['/openapi', '/openapi/v4', '/openapi/v3/apis/none/v1', '/openapi/v2/x']) {
    test(`${path} is not found`, async () => assert.equal((await server.call('GET', path)).code, 404))
  }
})

test('the kubernetes dialect publishes the extensions of Kubernetes alone', async (t) => {
  const server = await startTestServer({ dialect: 'kubernetes' })
  t.after(() => server.stop())
  for (const path of ['/openapi/v2', '/openapi/v3/api/v1', '/openapi/v3/apis/apps/v1'])
    assert.equal((await server.call('GET', path)).text.match(/x-platform-[a-z-]*/)?.[0], undefined)
})

describe('the documents of a definition', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer({ dialect: 'kubernetes' })
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const made = await server.call('POST', path, { body: richDefinition })
    assert.equal(made.code, 201, made.text)
  })
  after(async () => server.stop())

  const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
  const read = async (version: string) =>
    (await server.call('GET', `/openapi/v3/apis/rich.example.com/${version}`)).body

  test('describe the fields of every object in the words that conformance tests look for', async () => {
    const { schemas } = (await read('v1')).components
    const { apiVersion, kind, metadata } = schemas['com.example.rich.v1.Rich'].properties
    assert.match(apiVersion.description, /^APIVersion defines /)
    assert.match(kind.description, /^Kind is /)
    assert.match(metadata.description, /^Standard object's metadata/)
    assert.deepEqual(metadata.allOf, [{ $ref: `#/components/schemas/${objectMeta}` }])
    assert.match(schemas[objectMeta].properties.creationTimestamp.description, /^CreationTimestamp is a timestamp /)
  })

  test('name every type that they refer to', async () => {
    const text = JSON.stringify(await read('v1'))
    const { schemas } = JSON.parse(text).components
    const names = [...text.matchAll(/#\/components\/schemas\/([^"]+)/g)].map(([, name = '']) => name)
    assert.ok(names.includes('com.example.rich.v1.RichList') && names.includes('io.k8s.api.autoscaling.v1.Scale'))
    for (const name of names) assert.ok(Object.hasOwn(schemas, name), name)
  })

  test('hold what is selectable, and the rules', async () => {
    const rich = (await read('v1')).components.schemas['com.example.rich.v1.Rich']
    assert.deepEqual(rich['x-kubernetes-selectable-fields'], [{ fieldPath: 'spec.color' }])
    assert.deepEqual(rich.properties.spec['x-kubernetes-validations'], [
      { rule: 'self.replicas > 0', message: 'm', reason: 'FieldValueInvalid', fieldPath: '.replicas' },
    ])
  })

  test('say in version 2 nothing of an object that takes any field', async () => {
    const { definitions } = (await server.call('GET', '/openapi/v2')).body
    const { 'x-kubernetes-group-version-kind': kinds, ...open } = definitions['com.example.rich.v3.Rich']
    assert.deepEqual([open, kinds[0].version], [{ type: 'object' }, 'v3'])
    assert.deepEqual(definitions['com.example.rich.v4.Rich'].properties.spec, {
      description: 's',
      'x-kubernetes-preserve-unknown-fields': true,
    })
  })

  test('say what each operation takes and answers', async () => {
    const { paths } = await read('v1')
    const { post, get } = paths['/apis/rich.example.com/v1/namespaces/{namespace}/riches']
    const $ref = '#/components/schemas/com.example.rich.v1.Rich'
    assert.deepEqual(post.requestBody, {
      content: { 'application/json': { schema: { $ref } }, 'application/yaml': { schema: { $ref } } },
      required: true,
    })
    assert.deepEqual(Object.keys(post.responses), ['200', '201', '202', '401'])
    assert.equal(get.responses[200].content['application/json'].schema.$ref, `${$ref}List`)
    assert.deepEqual([post.operationId, post.tags], ['createRichExampleComV1NamespacedRich', ['richExampleCom_v1']])
    const limit = get.parameters.find(({ name }: { name: string }) => name === 'limit')
    assert.deepEqual([limit.in, limit.schema], ['query', { type: 'integer' }])
    const scale = paths['/apis/rich.example.com/v1/namespaces/{namespace}/riches/{name}/scale']
    assert.deepEqual(
      scale.parameters.map(({ name, required }: { name: string; required: boolean }) => [name, required]),
      [
        ['namespace', true],
        ['name', true],
      ],
    )
    assert.deepEqual(Object.keys(scale).sort(), ['get', 'parameters', 'patch', 'put'])
  })
})

test('no document holds an empty list, which kube-openapi does not write again', async (t) => {
  const server = await startTestServer({ dialect: 'kubernetes' })
  t.after(() => server.stop())
  const links = Object.values<{ serverRelativeURL: string }>((await server.call('GET', '/openapi/v3')).body.paths)
  for (const path of ['/openapi/v2', ...links.map(({ serverRelativeURL }) => serverRelativeURL)])
    assert.equal((await server.call('GET', path)).text.match(/"(?!default")[^"]*":\[\]/)?.[0], undefined, path)
})

describe('a document', () => {
  test('is made again when a resource of its version changed, and only then', () => {
    const registry = new Registry()
    const resource = { ...configMaps(), group: 'example.com', plural: 'widgets', kind: 'Widget' }
    registry.add(resource)
    const documents = new OpenApiDocuments(registry, 'kubernetes')
    const bodyOf = () => documents.answer(['v3', 'apis', 'example.com', 'v1'], null, {}).body.toString()
    const before = bodyOf()
    assert.equal(bodyOf(), before)
    registry.add({ ...resource, schema: { type: 'object', properties: { size: { type: 'integer' } } } })
    assert.match(bodyOf(), /"size":\{"type":"integer"\}/)
  })
})
