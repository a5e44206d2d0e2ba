import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'

const classes = '/apis/scheduling.k8s.io/v1/priorityclasses'
const mergePatch = { 'content-type': 'application/merge-patch+json' }

describe('a new Pod', () => {
  let server: TestServer
  let namespace = ''
  let count = 0
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())
  beforeEach(async () => {
    namespace = `n${++count}`
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } })
  })

  const limit = async (...limits: readonly object[]) => {
    const path = `/api/v1/namespaces/${namespace}/limitranges`
    const { code, text } = await server.call('POST', path, { body: { metadata: { name: 'l' }, spec: { limits } } })
    assert.equal(code, 201, text)
  }
  const make = (resources: object = {}, spec: object = {}) =>
    server.call('POST', `/api/v1/namespaces/${namespace}/pods`, {
      body: { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i', resources }], ...spec } },
    })

  test('gets the requests and limits of its namespace, a note of it and the QoS class that follows', async () => {
    await limit({ type: 'Container', default: { cpu: '2' }, defaultRequest: { cpu: '500m', memory: '1Gi' } })
    const { body } = await make({ requests: { memory: '2Gi' } })
    assert.deepEqual(body.spec.containers[0].resources, {
      requests: { cpu: '500m', memory: '2Gi' },
      limits: { cpu: '2' },
    })
    const note = 'LimitRanger plugin set: cpu request for container c; cpu limit for container c'
    assert.equal(body.metadata.annotations['kubernetes.io/limit-ranger'], note)
    assert.equal(body.status.qosClass, 'Burstable')
  })

  test('is refused outside the bounds of its namespace, with every reason', async () => {
    await limit(
      { type: 'Container', min: { cpu: '100m' }, max: { memory: '1024Mi' } },
      { type: 'Pod', max: { cpu: '1' }, maxLimitRequestRatio: { cpu: '2' } },
    )
    const { code, body } = await make({ requests: { cpu: '50m' }, limits: { cpu: '500m', memory: '2Gi' } })
    assert.equal(code, 403)
    const reasons = [
      'minimum cpu usage per Container is 100m, but request is 50m',
      'maximum memory usage per Container is 1Gi, but limit is 2Gi',
      'cpu max limit to request ratio per Pod is 2, but provided ratio is 10.000000',
    ]
    assert.equal(body.message, `pods "p" is forbidden: [${reasons.join(', ')}]`)
    assert.equal((await make({ requests: { cpu: '250m' }, limits: { cpu: '500m', memory: '1Gi' } })).code, 201)
  })

  test('may not grow out of the bounds of its namespace, nor where its node cannot resize it', async () => {
    await limit({ type: 'Container', max: { cpu: '2' } })
    assert.equal((await make({ requests: { cpu: '1' }, limits: { cpu: '2' } })).code, 201)
    const path = `/api/v1/namespaces/${namespace}/pods/p`
    const patch = (part: string, body: object) => server.call('PATCH', `${path}/${part}`, { body, headers: mergePatch })
    const resize = (cpu: string) =>
      patch('resize', {
        spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' }, limits: { cpu } } }] },
      })
    const refused = await resize('3')
    assert.equal(refused.code, 403)
    assert.match(refused.body.message, /maximum cpu usage per Container is 2, but limit is 3/)
    const { code, body } = await resize('1500m')
    assert.deepEqual([code, body.spec.containers[0].resources.limits.cpu, body.metadata.generation], [200, '1500m', 2])
    // A limit that is left out is the default of the namespace again, as in Kubernetes.
    const defaulted = await patch('resize', {
      spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] },
    })
    assert.equal(defaulted.body.spec.containers[0].resources.limits.cpu, '2', defaulted.text)
    assert.equal((await resize('1500m')).code, 200)
    const running = { name: 'c', image: 'i', imageID: '', ready: true, restartCount: 0, state: { running: {} } }
    await patch('status', { status: { phase: 'Running', containerStatuses: [running] } })
    const old = await resize('2')
    assert.equal(old.code, 422)
    assert.match(old.body.message, /Pod running on node without support for resize/)
    const resources = { limits: { cpu: '1500m' } }
    await patch('status', { status: { containerStatuses: [{ ...running, resources }] } })
    assert.equal((await resize('2')).code, 200)
  })

  test('gets containers that join it, and keeps them as they are', async () => {
    await make()
    const path = `/api/v1/namespaces/${namespace}/pods/p`
    const join = (...ephemeralContainers: readonly object[]) =>
      server.call('PATCH', `${path}/ephemeralcontainers`, {
        body: { spec: { ephemeralContainers } },
        headers: mergePatch,
      })
    const [one, two] = ['one', 'two'].map((name) => ({ name, image: 'debug:1' }))
    assert.equal((await join(one ?? {})).code, 200)
    const { body } = await server.call('GET', `${path}/ephemeralcontainers`)
    assert.deepEqual([body.kind, body.spec.ephemeralContainers[0].imagePullPolicy], ['Pod', 'IfNotPresent'])
    assert.match((await join(two ?? {})).body.message, /existing ephemeral containers "one" may not be removed/)
    assert.match((await join({ ...one, image: 'other:1' })).body.message, /"one" may not be changed/)
    assert.equal((await join(body.spec.ephemeralContainers[0], two ?? {})).code, 200)
    const direct = await server.call('PATCH', path, {
      body: { spec: { ephemeralContainers: null } },
      headers: mergePatch,
    })
    assert.equal(direct.code, 422, 'only the subresource writes them')
  })

  test('counts init containers in the bounds of the Pod by their largest', async () => {
    await limit({ type: 'Pod', max: { cpu: '2' } })
    const initContainers = ['1', '3'].map((cpu, index) => ({
      name: `i${index}`,
      image: 'i',
      resources: { limits: { cpu } },
    }))
    const { body } = await make({ limits: { cpu: '1' } }, { initContainers })
    assert.match(body.message, /maximum cpu usage per Pod is 2, but limit is 3$/)
  })

  test('has the priority of the default class, of which there is one', async () => {
    const plain = await make()
    assert.deepEqual([plain.body.spec.priority, plain.body.spec.preemptionPolicy], [0, 'PreemptLowerPriority'])
    const body = { metadata: { name: 'usual' }, value: 7, globalDefault: true, preemptionPolicy: 'Never' }
    assert.equal((await server.call('POST', classes, { body })).code, 201)
    const second = await server.call('POST', classes, { body: { ...body, metadata: { name: 'other' } } })
    assert.equal(second.code, 403)
    assert.match(second.body.message, /PriorityClass usual is already marked as default\. Only one default can exist$/)
    await server.call('DELETE', `/api/v1/namespaces/${namespace}/pods/p`)
    const { spec } = (await make()).body
    assert.deepEqual([spec.priorityClassName, spec.priority, spec.preemptionPolicy], ['usual', 7, 'Never'])
    const again = { body: { description: 'd' }, headers: mergePatch }
    assert.equal((await server.call('PATCH', `${classes}/usual`, again)).code, 200)
    await server.call('DELETE', `${classes}/usual`)
  })
})

describe('the classes of the system', () => {
  test('are there in both dialects', async () => {
    for (const [dialect, group] of [
      ['kubernetes', 'scheduling.k8s.io'],
      ['platform', 'scheduling.platform.internal'],
    ] as const) {
      const server = await startTestServer({ dialect })
      const { body } = await server.call('GET', `/apis/${group}/v1/priorityclasses`)
      const values = body.items.map((each: { metadata: { name: string }; value: number }) => [
        each.metadata.name,
        each.value,
      ])
      assert.deepEqual(values, [
        ['system-cluster-critical', 2_000_000_000],
        ['system-node-critical', 2_000_001_000],
      ])
      await server.stop()
    }
  })
})
