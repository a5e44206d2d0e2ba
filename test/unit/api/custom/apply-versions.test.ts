import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestServer } from '../../../helpers/api-server.ts'

const item = { type: 'object', required: ['port'], properties: { port: { type: 'integer' }, name: { type: 'string' } } }

/** A version whose ports are a list by keys, or one that is owned whole. */
function version(name: string, listType: 'map' | 'atomic', more: object = {}) {
  const keys = listType === 'map' ? { 'x-kubernetes-list-map-keys': ['port'] } : {}
  const ports = { type: 'array', 'x-kubernetes-list-type': listType, ...keys, items: item }
  const spec = { type: 'object', properties: { ports, ...more } }
  const openAPIV3Schema = { type: 'object', properties: { spec } }
  return { name, served: true, storage: name === 'v1', schema: { openAPIV3Schema } }
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gates.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'gates', kind: 'Gate' },
    versions: [version('v1', 'map', { colour: { type: 'string' } }), version('v2', 'atomic')],
  },
}

test('what is owned item by item in one version is owned whole in another that says so', async () => {
  await using server = await startTestServer()
  const created = await server.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    body: definition,
  })
  assert.equal(created.code, 201)
  const apply = (apiVersion: string, manager: string, spec: object, force = false) =>
    server.call(
      'PATCH',
      `/apis/example.com/${apiVersion}/namespaces/default/gates/g?fieldManager=${manager}&force=${force}`,
      {
        body: { apiVersion: `example.com/${apiVersion}`, kind: 'Gate', metadata: { name: 'g' }, spec },
        headers: { 'content-type': 'application/apply-patch+yaml' },
      },
    )
  assert.equal((await apply('v1', 'one', { ports: [{ port: 80, name: 'web' }] })).code, 201)
  const refused = await apply('v2', 'two', { ports: [{ port: 81 }] })
  assert.equal(refused.code, 409)
  assert.deepEqual(
    refused.body.details.causes.map(({ field }: { field: string }) => field),
    ['.spec.ports'],
  )
  const { body } = await apply('v2', 'two', { ports: [{ port: 81 }] }, true)
  assert.deepEqual(body.spec, { ports: [{ port: 81 }] })
  const owners = body.metadata.managedFields.map(({ manager }: { manager: string }) => manager)
  assert.deepEqual(owners, ['two'], 'nothing is left that the first applier owns')
})
