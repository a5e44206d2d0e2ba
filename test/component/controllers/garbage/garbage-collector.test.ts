import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { GarbageCollector } from '../../../../src/controllers/garbage/garbage-collector.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { hollowNode, runControllers, workloadControllers } from '../../../helpers/controller-lab.ts'
import { FlakyClient } from '../../../helpers/flaky-client.ts'
import { untilAsync } from '../../../helpers/until.ts'

const maps = '/api/v1/namespaces/default/configmaps'

describe('the garbage collector, while every third write of it fails', () => {
  let server: TestServer
  let running: AsyncDisposable

  before(async () => {
    server = await startTestServer()
    running = await runControllers(
      server,
      (kit) => [...workloadControllers(kit), hollowNode(kit), new GarbageCollector(kit)],
      { client: new FlakyClient(server) },
    )
  })
  after(async () => {
    await running[Symbol.asyncDispose]()
    await server.stop()
  })

  async function make(
    name: string,
    owners: readonly object[] = [],
    finalizers: readonly string[] = [],
  ): Promise<string> {
    const metadata = { name, ownerReferences: owners, finalizers }
    const { code, body } = await server.call('POST', maps, { body: { apiVersion: 'v1', kind: 'ConfigMap', metadata } })
    assert.equal(code, 201, JSON.stringify(body))
    return body.metadata.uid
  }
  const owner = (name: string, uid: string, more: object = {}) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    name,
    uid,
    ...more,
  })
  const isGone = async (name: string) => (await server.call('GET', `${maps}/${name}`)).code === 404
  const remove = (name: string) => server.call('DELETE', `${maps}/${name}`)

  test('deletes what lost its last owner, through any number of generations', async () => {
    const one = await make('one')
    const two = await make('two', [owner('one', one)])
    await make('three', [owner('two', two)])
    await remove('one')
    await untilAsync('it has come so far', async () => (await isGone('two')) && (await isGone('three')))
  })

  test('keeps what has another owner, without the reference to the one that is gone', async () => {
    const [left, right] = [await make('left'), await make('right')]
    await make('shared', [owner('left', left), owner('right', right)])
    await remove('left')
    await untilAsync('it has come so far', async () => {
      const { body } = await server.call('GET', `${maps}/shared`)
      return body.metadata.ownerReferences?.length === 1
    })
  })

  test('deletes an object whose owner never was, or is another of the same name', async () => {
    await make('namesake')
    await make('lost', [owner('never', 'absent-uid')])
    await make('mistaken', [owner('namesake', 'uid-of-another')])
    await untilAsync('it has come so far', async () => (await isGone('lost')) && (await isGone('mistaken')))
  })

  test('in the foreground the owner goes last', async () => {
    const boss = await make('boss', [], ['foregroundDeletion'])
    await make('worker', [owner('boss', boss, { blockOwnerDeletion: true })], ['test.example/hold'])
    await remove('boss')
    await untilAsync(
      'it has come so far',
      async () => (await server.call('GET', `${maps}/worker`)).body.metadata.deletionTimestamp !== undefined,
    )
    assert.equal(await isGone('boss'), false)
    const headers = { 'content-type': 'application/merge-patch+json' }
    await server.call('PATCH', `${maps}/worker`, { headers, body: { metadata: { finalizers: [] } } })
    await untilAsync('it has come so far', async () => (await isGone('worker')) && (await isGone('boss')))
  })

  test('an orphaning owner sets its dependents free', async () => {
    const parent = await make('parent', [], ['orphan'])
    await make('child', [owner('parent', parent)])
    await remove('parent')
    await untilAsync('it has come so far', () => isGone('parent'))
    const { body } = await server.call('GET', `${maps}/child`)
    assert.deepEqual(body.metadata.ownerReferences ?? [], [])
  })

  test('a deleted Deployment takes its ReplicaSets and pods along; before that its rollout came to its end', async () => {
    const collection = '/apis/apps/v1/namespaces/default/deployments'
    const labels = { app: 'web' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'web', image: 'web' }] } }
    const spec = { replicas: 4, selector: { matchLabels: labels }, template }
    const body = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec }
    await server.call('POST', collection, { body })
    await untilAsync(
      'it has come so far',
      async () => (await server.call('GET', `${collection}/web`)).body.status?.availableReplicas === 4,
      20_000,
    )
    const headers = { 'content-type': 'application/merge-patch+json' }
    const containers = [{ name: 'web', image: 'web:2' }]
    await server.call('PATCH', `${collection}/web`, { headers, body: { spec: { template: { spec: { containers } } } } })
    await untilAsync('it has come so far', async () => {
      const pods = (await server.call('GET', '/api/v1/namespaces/default/pods')).body.items
      const isNew = pods.every(
        (pod: { spec: { containers: { image: string }[] } }) => pod.spec.containers[0]?.image === 'web:2',
      )
      return pods.length === 4 && isNew
    })
    await server.call('DELETE', `${collection}/web`)
    await untilAsync(
      'it has come so far',
      async () => (await server.call('GET', '/api/v1/namespaces/default/pods')).body.items.length === 0,
    )
    await untilAsync(
      'it has come so far',
      async () => (await server.call('GET', '/apis/apps/v1/replicasets')).body.items.length === 0,
    )
  })

  test('in the foreground a Deployment goes after its ReplicaSets, those after their pods', async () => {
    const collection = '/apis/apps/v1/namespaces/default/deployments'
    const labels = { app: 'shop' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'shop', image: 'shop' }] } }
    await server.call('POST', collection, {
      body: { metadata: { name: 'shop' }, spec: { replicas: 4, selector: { matchLabels: labels }, template } },
    })
    const find = () => server.call('GET', `${collection}/shop`)
    await untilAsync('all pods run', async () => (await find()).body.status?.availableReplicas === 4, 30_000)
    await server.call('DELETE', `${collection}/shop?propagationPolicy=Foreground`)
    await untilAsync('the Deployment is gone', async () => (await find()).code === 404, 30_000)
    for (const rest of ['/apis/apps/v1/replicasets', '/api/v1/namespaces/default/pods'])
      assert.deepEqual((await server.call('GET', rest)).body.items, [])
  })
})
