import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'

const listed = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['port', 'protocol'],
  items: {
    type: 'object',
    required: ['port'],
    properties: {
      port: { type: 'integer' },
      protocol: { type: 'string', default: 'TCP' },
      name: { type: 'string' },
    },
  },
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gates.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'gates', kind: 'Gate' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  ports: listed,
                  tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
                  args: { type: 'array', items: { type: 'string' } },
                },
              },
              status: { type: 'object', properties: { open: { type: 'boolean' } } },
            },
          },
        },
      },
    ],
  },
}

describe('patches of custom resources', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const { code, text } = await server.call('POST', path, { body: definition })
    assert.equal(code, 201, text)
  })
  after(() => server.stop())

  const gates = '/apis/example.com/v1/namespaces/default/gates'
  const patch = (path: string, type: string, body: object) =>
    server.call('PATCH', path, { body, headers: { 'content-type': `application/${type}` } })
  const apply = (name: string, manager: string, fields: object, path = '') =>
    patch(`${gates}/${name}${path}?fieldManager=${manager}`, 'apply-patch+yaml', {
      apiVersion: 'example.com/v1',
      kind: 'Gate',
      ...fields,
    })

  test('an item that is named twice is refused, because its owner would be ambiguous', async () => {
    for (const [spec, where] of [
      [
        { ports: [{ port: 1 }, { port: 1, protocol: 'TCP' }] },
        '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]',
      ],
      [{ tags: ['a', 'a'] }, '.spec.tags: duplicate entries for key [="a"]'],
    ] as const) {
      const reply = await apply('twice', 'one', { spec })
      assert.equal(reply.code, 400)
      assert.equal(reply.body.message.split('Kind=Gate): ')[1], where)
    }
  })

  test('lists merge by their keys, which may come from defaults, and as sets; other lists have one owner', async () => {
    const first = await apply('merged', 'one', { spec: { ports: [{ port: 80, name: 'a' }], tags: ['x'], args: ['1'] } })
    assert.equal(first.code, 201, first.text)
    assert.deepEqual(first.body.metadata.managedFields[0].fieldsV1['f:spec']['f:ports'], {
      'k:{"port":80,"protocol":"TCP"}': { '.': {}, 'f:name': {}, 'f:port': {} },
    })
    const second = await apply('merged', 'two', {
      spec: { ports: [{ port: 80, protocol: 'UDP' }, { port: 80 }], tags: ['y', 'x'] },
    })
    assert.equal(second.code, 200, second.text)
    assert.deepEqual(second.body.spec, {
      ports: [
        { port: 80, protocol: 'UDP' },
        { port: 80, name: 'a', protocol: 'TCP' },
      ],
      tags: ['y', 'x'],
      args: ['1'],
    })
    const conflict = await apply('merged', 'two', { spec: { ports: [{ port: 80, name: 'b' }], args: ['2'] } })
    assert.equal(
      conflict.body.message,
      'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.args\n- .spec.ports[port=80,protocol="TCP"].name',
    )
    const left = await apply('merged', 'one', { spec: { args: ['1'] } })
    assert.deepEqual(left.body.spec.tags, ['y', 'x'], 'what the second owns stays')
    assert.equal(left.body.spec.ports[1].name, undefined, 'a field without another owner is removed')
  })

  test('status is applied through its own path', async () => {
    await apply('with-status', 'one', { spec: {}, status: { open: true } })
    const reply = await apply('with-status', 'two', { spec: { tags: ['no'] }, status: { open: true } }, '/status')
    assert.deepEqual([reply.code, reply.body.status, reply.body.spec], [200, { open: true }, {}])
    const [entry] = reply.body.metadata.managedFields.filter((other: { manager: string }) => other.manager === 'two')
    assert.deepEqual([entry.subresource, entry.fieldsV1], ['status', { 'f:status': { 'f:open': {} } }])
  })

  test('a strategic merge patch is a 415 with the types that are taken', async () => {
    const reply = await patch(`${gates}/any`, 'strategic-merge-patch+json', {})
    assert.equal(reply.code, 415)
    assert.equal(
      reply.body.message,
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    )
  })

  test('Strict names what the schema does not have', async () => {
    const body = '{"metadata":{"name":"strict"},"spec":{"colour":1,"args":[],"args":[]},"other":1}'
    const reply = await server.call('POST', `${gates}?fieldValidation=Strict`, { body })
    assert.equal(
      reply.body.message,
      'Gate in version "v1" cannot be handled as a Gate: strict decoding error: duplicate field "spec.args", unknown field "other", unknown field "spec.colour"',
    )
  })
})
