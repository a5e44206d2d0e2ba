import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { createQuotaController } from '../../../../src/controllers/quota/quota-controller.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { runControllers } from '../../../helpers/controller-lab.ts'
import type { AnyObject } from '../../../helpers/simulated-cluster.ts'
import { untilAsync } from '../../../helpers/until.ts'

const mergePatch = { 'content-type': 'application/merge-patch+json' }
const eventually = (what: string, condition: () => Promise<boolean>) => untilAsync(what, condition, 30_000)

describe('a quota', () => {
  let server: TestServer
  let controllers: AsyncDisposable
  let count = 0
  let root = ''
  before(async () => {
    server = await startTestServer()
    controllers = await runControllers(server, (kit) => [createQuotaController(kit)])
  })
  after(async () => {
    await controllers[Symbol.asyncDispose]()
    await server.stop()
  })
  beforeEach(async () => {
    const name = `q${++count}`
    root = `/api/v1/namespaces/${name}`
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name } } })
  })

  const used = async (name = 'q'): Promise<AnyObject> =>
    (await server.call('GET', `${root}/resourcequotas/${name}`)).body.status.used
  const limit = async (hard: object, more: object = {}, name = 'q') => {
    const body = { metadata: { name }, spec: { hard, ...more } }
    const { code, text } = await server.call('POST', `${root}/resourcequotas`, { body })
    assert.equal(code, 201, text)
    await eventually('it is counted', async () => (await used(name)) !== undefined)
  }
  const pod = (name: string, spec: object = {}, resources: object = {}) =>
    server.call('POST', `${root}/pods`, {
      body: { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i', resources }], ...spec } },
    })
  const configMap = (name: string, query = '') =>
    server.call('POST', `${root}/configmaps${query}`, { body: { metadata: { name } } })

  test('counts the size of claims that are there, that come, and that go', async () => {
    const claim = (name: string, storage: string) =>
      server.call('POST', `${root}/persistentvolumeclaims`, {
        body: {
          metadata: { name },
          spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'fast', resources: { requests: { storage } } },
        },
      })
    await claim('before', '1Gi')
    const ofClass = 'fast.storageclass.storage.k8s.io/requests.storage'
    await limit({ persistentvolumeclaims: '5', 'requests.storage': '4Gi', [ofClass]: '3Gi' })
    assert.deepEqual(await used(), { persistentvolumeclaims: '1', 'requests.storage': '1Gi', [ofClass]: '1Gi' })
    assert.equal((await claim('one', '2Gi')).code, 201)
    const { code, body } = await claim('two', '1Gi')
    assert.equal(code, 403)
    assert.match(
      body.message,
      /exceeded quota: q, requested: fast\.storageclass\.storage\.k8s\.io\/requests\.storage=1Gi/,
    )
    const path = `${root}/persistentvolumeclaims/one`
    await server.call('PATCH', path, { body: { metadata: { finalizers: null } }, headers: mergePatch })
    await server.call('DELETE', path)
    assert.equal((await used())['requests.storage'], '1Gi')
  })

  test('counts what is there, what comes and what goes', async () => {
    await configMap('before')
    await limit({ configmaps: '2', 'count/configmaps': '5', pods: '1' })
    assert.deepEqual(await used(), { configmaps: '1', 'count/configmaps': '1', pods: '0' })
    assert.equal((await configMap('one')).code, 201)
    assert.deepEqual(await used(), { configmaps: '2', 'count/configmaps': '2', pods: '0' })
    const { code, body } = await configMap('two')
    assert.equal(code, 403)
    const why = 'exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2'
    assert.equal(body.message, `configmaps "two" is forbidden: ${why}`)
    assert.equal((await server.call('DELETE', `${root}/configmaps/before`)).code, 200)
    assert.deepEqual(await used(), { configmaps: '1', 'count/configmaps': '1', pods: '0' })
    assert.equal((await configMap('two', '?dryRun=All')).code, 201)
    assert.equal((await used()).configmaps, '1')
  })

  test('charges a claim to the class in the annotation of old objects', async () => {
    const claim = async (name: string, storage: string, metadata: object = {}) => {
      const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, storageClassName: 'fast' }
      const body = { metadata: { name, ...metadata }, spec }
      return (await server.call('POST', `${root}/persistentvolumeclaims`, { body })).code
    }
    const ofClass = (name: string) => `${name}.storageclass.storage.k8s.io/requests.storage`
    const old = { annotations: { 'volume.beta.kubernetes.io/storage-class': 'slow' } }
    assert.deepEqual([await claim('a', '1Gi'), await claim('b', '2Gi', old)], [201, 201])
    await limit({ 'requests.storage': '5Gi', [ofClass('fast')]: '4Gi', [ofClass('slow')]: '2Gi' })
    assert.deepEqual(await used(), { 'requests.storage': '3Gi', [ofClass('fast')]: '1Gi', [ofClass('slow')]: '2Gi' })
    assert.equal(await claim('c', '1Gi', old), 403, 'the class of the annotation is full')
    assert.equal(await claim('d', '3Gi'), 403, 'all storage together would be too much')
    assert.equal(await claim('e', '2Gi'), 201)
  })

  test('lets exactly as many through as it has left, however many come at once', async () => {
    await limit({ pods: '5' })
    const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => pod(`p${index}`)))
    const codes = Object.groupBy(answers, ({ code }) => code)
    assert.deepEqual([codes[201]?.length, codes[403]?.length], [5, 25])
    assert.deepEqual(await used(), { pods: '5' })
  })

  test('sums requests and limits, and asks containers to state them', async () => {
    await limit({ 'requests.cpu': '1', 'limits.memory': '1Gi' })
    const silent = await pod('silent', {}, { requests: { cpu: '100m' } })
    assert.match(silent.body.message, /failed quota: q: must specify limits\.memory for: c$/)
    const stated = { requests: { cpu: '600m' }, limits: { cpu: '1', memory: '512Mi' } }
    assert.equal((await pod('a', {}, stated)).code, 201)
    assert.deepEqual(await used(), { 'limits.memory': '512Mi', 'requests.cpu': '600m' })
    const { body } = await pod('b', {}, stated)
    assert.match(body.message, /requested: requests\.cpu=600m, used: requests\.cpu=600m, limited: requests\.cpu=1$/)
  })

  test('gives back what a Pod used when it has ended', async () => {
    await limit({ pods: '1', 'count/pods': '5' })
    assert.equal((await pod('a')).code, 201)
    assert.equal((await pod('b')).code, 403)
    const body = { status: { phase: 'Succeeded' } }
    await server.call('PATCH', `${root}/pods/a/status`, { body, headers: mergePatch })
    assert.deepEqual(await used(), { pods: '0', 'count/pods': '1' })
    assert.equal((await pod('b')).code, 201)
  })

  test('counts the Pods of its scopes only', async () => {
    const expression = { scopeName: 'PriorityClass', operator: 'In', values: ['system-node-critical'] }
    await limit({ pods: '0' }, { scopeSelector: { matchExpressions: [expression] } })
    await limit({ pods: '1' }, { scopes: ['Terminating'] }, 'ending')
    assert.equal((await pod('usual')).code, 201)
    assert.equal((await pod('critical', { priorityClassName: 'system-node-critical' })).code, 403)
    assert.equal((await pod('ending', { activeDeadlineSeconds: 5 })).code, 201)
    assert.deepEqual([await used(), await used('ending')], [{ pods: '0' }, { pods: '1' }])
  })

  test('counts ports and load balancers of Services, also when a Service changes', async () => {
    await limit({ services: '2', 'services.nodeports': '1' })
    const service = (name: string, spec: object) =>
      server.call('POST', `${root}/services`, {
        body: { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } },
      })
    assert.equal((await service('a', { type: 'NodePort' })).code, 201)
    assert.equal((await service('b', {})).code, 201)
    assert.deepEqual(await used(), { services: '2', 'services.nodeports': '1' })
    const change = { body: { spec: { type: 'NodePort' } }, headers: mergePatch }
    assert.equal((await server.call('PATCH', `${root}/services/b`, change)).code, 403)
    assert.equal((await service('c', {})).code, 403)
  })

  test('follows a change of its limits', async () => {
    await limit({ configmaps: '0' })
    assert.equal((await configMap('a')).code, 403)
    const body = { spec: { hard: { configmaps: '1', secrets: '3' } } }
    await server.call('PATCH', `${root}/resourcequotas/q`, { body, headers: mergePatch })
    await eventually('the new limits hold', async () => (await used()).secrets === '0')
    assert.equal((await configMap('a')).code, 201)
    assert.deepEqual(await used(), { configmaps: '1', secrets: '0' })
  })
})
