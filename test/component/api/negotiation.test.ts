import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { parseProtobufBody } from '../../../src/api/decode/protobuf.ts'
import type { JsonObject } from '../../../src/model/api-object.ts'
import { acceptCases, pathOf, shownBy } from '../../helpers/accept-cases.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { definition, spec } from '../../helpers/definitions.ts'
import { paths } from '../../helpers/manifests.ts'

const protobuf = 'application/vnd.kubernetes.protobuf'

describe('the form of an answer', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
    await server.call('POST', paths.configMaps, { body: { metadata: { name: 'a' }, data: { key: 'value' } } })
  })
  after(() => server.stop())

  const get = (path: string, accept: string) => server.call('GET', path, { headers: { accept } })

  test('is protobuf for a client that takes nothing else: objects and errors', async () => {
    const found = await get(`${paths.configMaps}/a`, protobuf)
    assert.deepEqual([found.code, found.headers['content-type']], [200, protobuf])
    const object = parseProtobufBody(found.bytes) as JsonObject
    assert.deepEqual([object['kind'], object['data']], ['ConfigMap', { key: 'value' }])
    const missing = await get(`${paths.configMaps}/b`, protobuf)
    const status = parseProtobufBody(missing.bytes) as JsonObject
    assert.deepEqual([missing.code, status['kind'], status['reason']], [404, 'Status', 'NotFound'])
    const list = await get(paths.configMaps, protobuf)
    assert.deepEqual(
      [list.code, list.headers['content-type'], list.bytes.subarray(0, 4).toString()],
      [200, protobuf, 'k8s\0'],
    )
  })

  test('is JSON for a client that takes both', async () => {
    const found = await get(`${paths.configMaps}/a`, `${protobuf}, */*`)
    assert.equal(found.headers['content-type'], 'application/json')
  })

  test('is refused where there is none: a Table of a review, events as protobuf', async () => {
    const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' }
    const body = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } }
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
    assert.equal((await server.call('POST', path, { body, headers: table })).code, 406)
    assert.equal((await get(`${paths.configMaps}?watch=true`, protobuf)).code, 406)
  })

  test('is refused for the names that every object of JavaScript has', async () => {
    for (const accept of ['constructor', '__proto__']) assert.equal((await get(paths.configMaps, accept)).code, 406)
  })

  for (const each of acceptCases)
    test(`of the ${each.of} as ${each.accept || 'nothing'} is as kube-apiserver gives it`, async () => {
      assert.deepEqual(shownBy(each, await get(pathOf(each), each.accept)), each.answer)
    })

  test('rows of a Table in v1beta1 show metadata in v1beta1, and whole objects with their kind', async () => {
    const table = 'application/json;as=Table;v=v1beta1;g=meta.k8s.io'
    const [row] = (await get(paths.configMaps, table)).body.rows
    assert.deepEqual([row.object.kind, row.object.apiVersion], ['PartialObjectMetadata', 'meta.k8s.io/v1beta1'])
    const [whole] = (await get(`${paths.configMaps}?includeObject=Object`, table)).body.rows
    assert.deepEqual([whole.object.kind, whole.object.apiVersion], ['ConfigMap', 'v1'])
  })

  test('a list says the kind of its items once; those of custom resources say it too', async () => {
    const [item] = (await get(paths.configMaps, 'application/json')).body.items
    assert.deepEqual(Object.keys(item), ['metadata', 'data'])
    assert.match((await get(paths.configMaps, 'application/yaml')).text, /\nitems:\n- metadata:\n/)
    await server.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body: definition() })
    const widgets = '/apis/example.com/v1/namespaces/default/widgets'
    await server.call('POST', widgets, { body: spec('w', { size: 1 }) })
    const [custom] = (await get(widgets, 'application/json')).body.items
    assert.deepEqual(Object.keys(custom), ['kind', 'apiVersion', 'metadata', 'spec'])
  })

  test('a time limit that is no duration is a 400', async () => {
    for (const timeout of ['invalid', '5', '1x', '1s1'])
      assert.match(
        (await server.call('GET', `${paths.configMaps}?timeout=${timeout}`)).body.message,
        /invalid timeout specified in the request URL - time: invalid duration/,
      )
    for (const timeout of ['', '0', '1m30s', '1.5h', '300ms'])
      assert.equal((await server.call('GET', `${paths.configMaps}?timeout=${timeout}`)).code, 200)
  })
})
