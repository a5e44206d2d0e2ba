import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createDisruptionController } from '../../../../src/controllers/disruption/disruption-controller.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { runControllers, workloadControllers } from '../../../helpers/controller-lab.ts'
import type { AnyObject } from '../../../helpers/simulated-cluster.ts'
import { untilAsync } from '../../../helpers/until.ts'

const core = '/api/v1/namespaces/default'
const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets'
const deployments = '/apis/apps/v1/namespaces/default/deployments'
const mergePatch = { 'content-type': 'application/merge-patch+json' }
const eventually = (what: string, condition: () => Promise<boolean>) => untilAsync(what, condition, 30_000)

describe('a disruption budget', () => {
  let server: TestServer
  let controllers: AsyncDisposable
  before(async () => {
    server = await startTestServer()
    controllers = await runControllers(server, (kit) => [...workloadControllers(kit), createDisruptionController(kit)])
  })
  after(async () => {
    await controllers[Symbol.asyncDispose]()
    await server.stop()
  })

  const post = async (path: string, body: object) => {
    const answer = await server.call('POST', path, { body })
    assert.equal(answer.code, 201, answer.text)
    return answer.body as AnyObject
  }
  const budget = async (name: string, spec: object) => {
    await post(budgets, { metadata: { name }, spec: { selector: { matchLabels: { app: name } }, ...spec } })
  }
  const read = async (name: string): Promise<AnyObject> => (await server.call('GET', `${budgets}/${name}`)).body
  const allows = (name: string, count: number) =>
    eventually(`${name} allows ${count}`, async () => {
      const { status, metadata } = await read(name)
      return status.observedGeneration === metadata.generation && status.disruptionsAllowed === count
    })
  const setReady = async (name: string, isReady = true) => {
    const condition = { type: 'Ready', status: isReady ? 'True' : 'False', lastTransitionTime: '2026-01-01T00:00:00Z' }
    const body = { status: { phase: 'Running', conditions: [condition] } }
    const { code, text } = await server.call('PATCH', `${core}/pods/${name}/status`, { body, headers: mergePatch })
    assert.equal(code, 200, text)
  }
  const makePods = async (app: string, count: number) => {
    const names = Array.from({ length: count }, (_, index) => `${app}-${index}`)
    const spec = { containers: [{ name: 'c', image: 'i' }], nodeName: 'n1' }
    for (const name of names) {
      await post(`${core}/pods`, { metadata: { name, labels: { app } }, spec })
      await setReady(name)
    }
    return names
  }
  const evict = (name: string, options: object = {}) =>
    server.call('POST', `${core}/pods/${name}/eviction`, {
      body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, deleteOptions: options },
    })

  test('lets as many pods be evicted as it can spare, and says why no more', async () => {
    await makePods('web', 3)
    await budget('web', { minAvailable: 2 })
    await allows('web', 1)
    const { status } = await read('web')
    assert.deepEqual([status.currentHealthy, status.desiredHealthy, status.expectedPods], [3, 2, 3])
    assert.deepEqual(
      status.conditions.map((each: AnyObject) => [each.type, each.status, each.reason]),
      [['DisruptionAllowed', 'True', 'SufficientPods']],
    )
    assert.equal((await evict('web-0')).code, 201)
    const marked = (await server.call('GET', `${core}/pods/web-0`)).body
    assert.ok(marked.metadata.deletionTimestamp)
    const mark = marked.status.conditions.find((each: AnyObject) => each.type === 'DisruptionTarget')
    assert.deepEqual([mark.status, mark.reason], ['True', 'EvictionByEvictionAPI'])
    const refused = await evict('web-1')
    assert.equal(refused.code, 429)
    assert.equal(refused.body.message, "Cannot evict pod as it would violate the pod's disruption budget.")
    const [{ reason, message }] = refused.body.details.causes
    assert.equal(reason, 'DisruptionBudget')
    assert.match(message, /^The disruption budget web needs 2 healthy pods and has \d currently$/)
    await allows('web', 0)
    assert.equal((await evict('web-0')).code, 201, 'a pod that is being deleted needs no budget')
  })

  test('spends nothing on a dry run', async () => {
    await makePods('dry', 2)
    await budget('dry', { minAvailable: 1 })
    await allows('dry', 1)
    assert.equal((await evict('dry-0', { dryRun: ['All'] })).code, 201)
    assert.equal((await evict('dry-1', { dryRun: ['All'] })).code, 201)
    assert.equal((await read('dry')).status.disruptionsAllowed, 1)
  })

  test('spares pods that are not ready only while enough others are, or always if it says so', async () => {
    await makePods('sick', 2)
    await setReady('sick-0', false)
    await budget('sick', { minAvailable: 2 })
    await eventually('it is counted', async () => (await read('sick')).status.desiredHealthy === 2)
    assert.equal((await evict('sick-0')).code, 429)
    await server.call('PATCH', `${budgets}/sick`, {
      body: { spec: { unhealthyPodEvictionPolicy: 'AlwaysAllow' } },
      headers: mergePatch,
    })
    assert.equal((await evict('sick-0')).code, 201)
  })

  test('counts what a Deployment wants where it is a share', async () => {
    const labels = { app: 'shop' }
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }], nodeName: 'n1' } }
    await budget('shop', { maxUnavailable: '50%' })
    await post(deployments, {
      metadata: { name: 'shop' },
      spec: { replicas: 4, selector: { matchLabels: labels }, template },
    })
    const list = async () => (await server.call('GET', `${core}/pods?labelSelector=app=shop`)).body.items as AnyObject[]
    await eventually('there are pods', async () => (await list()).length === 4)
    for (const { metadata } of (await list()).slice(0, 3)) await setReady(metadata.name)
    await allows('shop', 1)
    const { status } = await read('shop')
    assert.deepEqual([status.expectedPods, status.desiredHealthy, status.currentHealthy], [4, 2, 3])
  })

  test('allows nothing for pods whose controller cannot be scaled', async () => {
    const owner = { apiVersion: 'example.com/v1', kind: 'Gadget', name: 'g', uid: 'u', controller: true }
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    const metadata = { name: 'odd-0', labels: { app: 'odd' }, ownerReferences: [owner] }
    await post(`${core}/pods`, { metadata, spec })
    await budget('odd', { maxUnavailable: 1 })
    await eventually('it says so', async () => (await read('odd')).status.conditions?.[0]?.reason === 'SyncFailed')
    assert.equal((await read('odd')).status.disruptionsAllowed, 0)
  })

  test('does not bind evictions of pods that no budget selects, and two budgets are an error', async () => {
    await makePods('free', 2)
    assert.equal((await evict('free-0')).code, 201)
    for (const name of ['one', 'two'])
      await post(budgets, { metadata: { name }, spec: { selector: { matchLabels: { app: 'free' } } } })
    const { code, body } = await evict('free-1')
    assert.equal(code, 500)
    assert.match(body.message, /more than one PodDisruptionBudget/)
  })
})
