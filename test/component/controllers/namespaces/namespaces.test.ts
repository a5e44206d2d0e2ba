import assert from 'node:assert/strict'
import { after, before, describe, mock, test } from 'node:test'
import type { BaseContext } from '../../../../src/controllers/base-context.ts'
import { createNamespaceController } from '../../../../src/controllers/namespaces/namespace-controller.ts'
import { deletionConditions } from '../../../../src/controllers/namespaces/remains.ts'
import { createRootCaController } from '../../../../src/controllers/namespaces/root-ca-controller.ts'
import { createServiceAccountController } from '../../../../src/controllers/namespaces/service-account-controller.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { runControllers } from '../../../helpers/controller-lab.ts'
import { clientOfServer } from '../../../helpers/controllers.ts'
import { FlakyClient } from '../../../helpers/flaky-client.ts'
import { untilAsync } from '../../../helpers/until.ts'

const generousMs = 30_000
const merge = { 'content-type': 'application/merge-patch+json' }
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

const widgets = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

test('the conditions name what remains and which finalizers keep it, and settle', () => {
  const remainders = [
    { resource: 'pods.', count: 2, finalizers: new Map([['a.example/hold', 1]]) },
    { resource: 'widgets.example.com', count: 1, finalizers: new Map([['a.example/hold', 1]]) },
  ]
  const state = { remainders, discoveryError: undefined, contentError: 'refused' }
  const conditions = deletionConditions([], state, 0)
  assert.deepEqual(
    conditions.filter(({ status }) => status === 'True').map(({ type, message }) => [type, message]),
    [
      ['NamespaceDeletionContentFailure', 'refused'],
      [
        'NamespaceContentRemaining',
        'Some resources are remaining: pods. has 2 resource instances, widgets.example.com has 1 resource instances',
      ],
      [
        'NamespaceFinalizersRemaining',
        'Some content in the namespace has finalizers remaining: a.example/hold in 2 resource instances',
      ],
    ],
  )
  assert.equal(deletionConditions(conditions, state, 5000), conditions)
})

describe('namespaces, while every third write of their controllers fails', () => {
  let server: TestServer
  let running: AsyncDisposable
  before(async () => {
    server = await startTestServer({ sweepsNamespaces: false })
    const create = [
      createNamespaceController,
      createServiceAccountController,
      (kit: BaseContext) => createRootCaController(kit, 'the CA'),
    ]
    running = await runControllers(server, (kit) => create.map((each) => each(kit)), {
      client: new FlakyClient(server),
    })
    await server.call('POST', definitions, { body: widgets })
    await untilAsync(
      'widgets are served',
      async () => (await server.call('GET', '/apis/example.com/v1/widgets')).code === 200,
    )
  })
  after(async () => {
    await running[Symbol.asyncDispose]()
    await server.stop()
  })

  const status = async (path: string) => (await server.call('GET', path)).code
  const conditionsOf = async (name: string): Promise<Record<string, string>> => {
    const { body } = await server.call('GET', `/api/v1/namespaces/${name}`)
    const list: { type: string; message: string; status: string }[] = body.status?.conditions ?? []
    return Object.fromEntries(list.filter((each) => each.status === 'True').map(({ type, message }) => [type, message]))
  }
  const make = async (name: string) => {
    assert.equal((await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name } } })).code, 201)
  }

  test('each has its default ServiceAccount, again when it was deleted', async () => {
    await make('accounts')
    const path = '/api/v1/namespaces/accounts/serviceaccounts/default'
    await untilAsync('it is there', async () => (await status(path)) === 200, generousMs)
    await untilAsync('kube-system has one', async () => {
      return (await status('/api/v1/namespaces/kube-system/serviceaccounts/default')) === 200
    })
    const { uid } = (await server.call('GET', path)).body.metadata
    await server.call('DELETE', path)
    await untilAsync(
      'a new one is there',
      async () => {
        const { code, body } = await server.call('GET', path)
        return code === 200 && body.metadata.uid !== uid
      },
      generousMs,
    )
  })

  test('each has the certificate of the CA, again when a client changed it', async () => {
    await make('certified')
    const path = '/api/v1/namespaces/certified/configmaps/kube-root-ca.crt'
    const certificateOf = async () => (await server.call('GET', path)).body.data?.['ca.crt']
    await untilAsync('it is there', async () => (await certificateOf()) === 'the CA', generousMs)
    await server.call('PATCH', path, { body: { data: { 'ca.crt': 'another', more: 'data' } }, headers: merge })
    await untilAsync('it is there again', async () => (await certificateOf()) === 'the CA', generousMs)
  })

  test('a deleted one goes with everything in it, custom resources too, and tells what keeps it until then', async () => {
    await make('full')
    const core = '/api/v1/namespaces/full'
    const maps = Array.from({ length: 20 }, (_, index) =>
      server.call('POST', `${core}/configmaps`, { body: { metadata: { name: `map-${index}` } } }),
    )
    await Promise.all(maps)
    const held = { metadata: { name: 'held', finalizers: ['test.example/hold'] } }
    await server.call('POST', '/apis/example.com/v1/namespaces/full/widgets', {
      body: { apiVersion: 'example.com/v1', kind: 'Widget', ...held },
    })
    const { code, body } = await server.call('DELETE', '/api/v1/namespaces/full')
    assert.deepEqual([code, body.status.phase], [200, 'Terminating'])
    await untilAsync(
      'only the widget is left, and the conditions say so',
      async () => {
        const { NamespaceContentRemaining, NamespaceFinalizersRemaining } = await conditionsOf('full')
        return (
          NamespaceContentRemaining === 'Some resources are remaining: widgets.example.com has 1 resource instances' &&
          NamespaceFinalizersRemaining ===
            'Some content in the namespace has finalizers remaining: test.example/hold in 1 resource instances'
        )
      },
      generousMs,
    )
    const refused = await server.call('POST', `${core}/configmaps`, { body: { metadata: { name: 'late' } } })
    assert.equal(refused.code, 403)
    await server.call('PATCH', '/apis/example.com/v1/namespaces/full/widgets/held', {
      body: { metadata: { finalizers: [] } },
      headers: merge,
    })
    await untilAsync('the namespace is gone', async () => (await status(core)) === 404, generousMs)
    assert.equal((await server.call('GET', '/apis/example.com/v1/widgets')).body.items.length, 0)
  })

  test('a namespace that a foreign finalizer keeps stays empty until the finalizer is removed', async () => {
    await make('kept')
    const path = '/api/v1/namespaces/kept'
    const { body } = await server.call('GET', path)
    await server.call('PUT', `${path}/finalize`, {
      body: { ...body, spec: { finalizers: ['kubernetes', 'own.example/x'] } },
    })
    await server.call('DELETE', path)
    await untilAsync(
      'ours is gone',
      async () => (await server.call('GET', path)).body.spec.finalizers.join() === 'own.example/x',
      generousMs,
    )
    const now = (await server.call('GET', path)).body
    await server.call('PUT', `${path}/finalize`, { body: { ...now, spec: { finalizers: [] } } })
    await untilAsync('it is gone', async () => (await status(path)) === 404, generousMs)
  })
})

test('what is on its way out is looked for, and not asked to go again', async () => {
  await using server = await startTestServer({ sweepsNamespaces: false })
  const client = clientOfServer(server)
  const asked = mock.method(client, 'deleteCollection')
  const looked = mock.method(client, 'stream')
  await using _ = await runControllers(server, (kit) => [createNamespaceController(kit)], { client })
  await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'slow' } } })
  const maps = '/api/v1/namespaces/slow/configmaps'
  await server.call('POST', maps, { body: { metadata: { name: 'held', finalizers: ['test.example/hold'] } } })
  await server.call('DELETE', '/api/v1/namespaces/slow')
  const looks = () =>
    looked.mock.calls.filter(({ arguments: [{ path, query }] }) => path === maps && query?.['watch'] === undefined)
  await untilAsync('it was looked for again', async () => looks().length >= 4, generousMs)
  assert.equal(asked.mock.callCount(), 1)
  assert.match(String(looks()[0]?.arguments[0].accept), /PartialObjectMetadata/)
})
