import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createReplicationController } from '../../../../src/controllers/workloads/controllers.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { hollowNode, runControllers } from '../../../helpers/controller-lab.ts'
import type { AnyObject } from '../../../helpers/simulated-cluster.ts'
import { untilAsync } from '../../../helpers/until.ts'

const core = '/api/v1/namespaces/default'
const path = `${core}/replicationcontrollers`
const mergePatch = { 'content-type': 'application/merge-patch+json' }

describe('a ReplicationController', () => {
  let server: TestServer
  let controllers: AsyncDisposable
  before(async () => {
    server = await startTestServer()
    controllers = await runControllers(server, (kit) => [createReplicationController(kit), hollowNode(kit)])
  })
  after(async () => {
    await controllers[Symbol.asyncDispose]()
    await server.stop()
  })
  const read = async (): Promise<AnyObject> => (await server.call('GET', `${path}/web`)).body
  const pods = async (): Promise<AnyObject[]> => (await server.call('GET', `${core}/pods`)).body.items
  const eventually = (what: string, condition: () => Promise<boolean>) => untilAsync(what, condition, 30_000)

  test('keeps its number of Pods, by a map of labels, and is scaled like other workloads', async () => {
    const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const made = await server.call('POST', path, {
      body: { metadata: { name: 'web' }, spec: { replicas: 2, template } },
    })
    assert.deepEqual([made.code, made.body.spec.selector], [201, { app: 'web' }], made.text)
    await eventually('two are ready', async () => (await read()).status.readyReplicas === 2)
    const [pod] = await pods()
    const { kind, apiVersion, controller } = pod.metadata.ownerReferences[0]
    assert.deepEqual([kind, apiVersion, controller], ['ReplicationController', 'v1', true])
    const scale = await server.call('GET', `${path}/web/scale`)
    assert.deepEqual(scale.body.status, { replicas: 2, selector: 'app=web' })
    await server.call('PATCH', `${path}/web/scale`, { body: { spec: { replicas: 1 } }, headers: mergePatch })
    await eventually('one is left', async () => (await read()).status.replicas === 1 && (await pods()).length === 1)
  })

  test('says that the quota keeps it from making Pods, until it does not', async () => {
    const small = '/api/v1/namespaces/small'
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'small' } } })
    const hard = { pods: '1' }
    await server.call('POST', `${small}/resourcequotas`, { body: { metadata: { name: 'q' }, spec: { hard } } })
    const headers = mergePatch
    const status = { hard, used: { pods: '0' } }
    await server.call('PATCH', `${small}/resourcequotas/q/status`, { body: { status }, headers })
    const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
    const body = { metadata: { name: 'web' }, spec: { replicas: 2, template } }
    assert.equal((await server.call('POST', `${small}/replicationcontrollers`, { body })).code, 201)
    const read = async () => (await server.call('GET', `${small}/replicationcontrollers/web`)).body.status
    await eventually('it says so', async () => (await read()).conditions?.length === 1 && (await read()).replicas === 1)
    const [{ type, status: isTrue, reason, message }] = (await read()).conditions
    assert.deepEqual([type, isTrue, reason], ['ReplicaFailure', 'True', 'FailedCreate'])
    assert.match(message, /exceeded quota: q/)
    const fewer = { spec: { replicas: 1 } }
    await server.call('PATCH', `${small}/replicationcontrollers/web`, { body: fewer, headers })
    await eventually('it says no more', async () => (await read()).conditions === undefined)
  })

  test('leaves its Pods to others when a delete names no policy', async () => {
    await server.call('DELETE', `${path}/web`)
    assert.deepEqual((await read()).metadata.finalizers, ['orphan'])
  })
})
