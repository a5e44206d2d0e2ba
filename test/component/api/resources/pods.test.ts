import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { storeKey } from '../../../../src/api/resources/keys.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'

const pods = '/api/v1/namespaces/default/pods'
const merge = { 'content-type': 'application/merge-patch+json' }

describe('Pods', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
    await server.call('POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } })
  })
  after(() => server.stop())

  const create = async (name: string, spec: object) => {
    const body = { metadata: { name }, spec: { containers: [{ name: 'web', image: 'web:1' }], ...spec } }
    const answer = await server.call('POST', pods, { body })
    assert.equal(answer.code, 201, answer.text)
    return answer.body
  }
  const patch = (name: string, body: object, subresource = '') =>
    server.call('PATCH', `${pods}/${name}${subresource}`, { body, headers: merge })
  const refusedFields = async (name: string, spec: object) => {
    const { code, body } = await patch(name, { spec })
    assert.equal(code, 422)
    return body.details.causes.map(({ field }: { field: string }) => field)
  }

  test('a Pod has the defaults that a kubelet relies on', async () => {
    const container = {
      name: 'web',
      image: 'web:1',
      livenessProbe: { httpGet: { port: 80 }, timeoutSeconds: 0 },
      resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } },
      imagePullPolicy: '',
    }
    const { spec, status } = await create('defaults', { containers: [container], volumes: [{ name: 'data' }] })
    assert.deepEqual(spec, {
      containers: [
        {
          ...container,
          imagePullPolicy: 'IfNotPresent',
          livenessProbe: {
            httpGet: { port: 80, path: '/', scheme: 'HTTP' },
            timeoutSeconds: 1,
            periodSeconds: 10,
            successThreshold: 1,
            failureThreshold: 3,
          },
          resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m', memory: '1Gi' } },
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
        },
      ],
      volumes: [{ name: 'data', emptyDir: {} }],
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      schedulerName: 'default-scheduler',
      terminationGracePeriodSeconds: 30,
      securityContext: {},
      enableServiceLinks: true,
      priority: 0,
      preemptionPolicy: 'PreemptLowerPriority',
    })
    assert.deepEqual(status, { phase: 'Pending', qosClass: 'Burstable' })
  })

  test('the pull policy follows from the tag of the image', async () => {
    const images = ['web', 'web:latest', 'registry:5000/web', 'web:1', 'registry:5000/a/web:1', 'web@sha256:0', '']
    const containers = images.map((image, index) => ({ name: `c${index}`, image }))
    const { spec } = await create('images', { containers })
    const policies = spec.containers.map(({ imagePullPolicy }: { imagePullPolicy: string }) => imagePullPolicy)
    const once = 'IfNotPresent'
    assert.deepEqual(policies, ['Always', 'Always', 'Always', once, once, once, once])
  })

  test('an update may change images, bring a deadline nearer and add tolerations', async () => {
    await create('changes', { activeDeadlineSeconds: 100 })
    const toleration = { key: 'a', operator: 'Exists' }
    const image = { containers: [{ name: 'web', image: 'web:2' }] }
    for (const spec of [image, { activeDeadlineSeconds: 50 }, { tolerations: [toleration] }])
      assert.equal((await patch('changes', { spec })).code, 200, JSON.stringify(spec))
    assert.deepEqual(await refusedFields('changes', { activeDeadlineSeconds: 60 }), ['spec.activeDeadlineSeconds'])
    assert.deepEqual(await refusedFields('changes', { tolerations: [] }), ['spec.tolerations'])
    assert.deepEqual(await refusedFields('changes', { hostname: 'other' }), ['spec'])
    assert.deepEqual(await refusedFields('changes', { terminationGracePeriodSeconds: 1 }), ['spec'])
    assert.deepEqual(await refusedFields('changes', { containers: [] }), ['spec.containers', 'spec.containers'])
  })

  test('a gated Pod loses gates and is narrowed, no more', async () => {
    await create('gated', { schedulingGates: [{ name: 'a.b/c' }], nodeSelector: { zone: 'a' } })
    const { metadata, status } = (await server.call('GET', `${pods}/gated`)).body
    assert.deepEqual(
      status.conditions.map(({ reason, lastTransitionTime }: Record<string, string>) => [reason, lastTransitionTime]),
      [['SchedulingGated', metadata.creationTimestamp]],
    )
    assert.equal((await patch('gated', { spec: { nodeSelector: { disk: 'ssd' } } })).code, 200)
    assert.deepEqual(await refusedFields('gated', { nodeSelector: { zone: 'b' } }), ['spec.nodeSelector'])
    const added = { schedulingGates: [{ name: 'a.b/c' }, { name: 'a.b/d' }] }
    assert.deepEqual(await refusedFields('gated', added), ['spec.schedulingGates[1].name'])
    assert.equal((await patch('gated', { spec: { schedulingGates: [] } })).code, 200)
  })

  test('a Pod that an earlier version stored without defaults and against the rules can be changed and deleted', async () => {
    const key = storeKey({ plural: 'pods' }, 'default', 'old')
    const metadata = { name: 'old', namespace: 'default', uid: 'u', creationTimestamp: '2020-01-01T00:00:00Z' }
    const spec = { restartPolicy: 'Always', containers: [{ name: 'Old', image: 'old' }], tolerations: [{}] }
    const value = JSON.stringify({ kind: 'Pod', apiVersion: 'v1', metadata, spec, status: { phase: 'Pending' } })
    await server.store.commit([{ kind: 'put', key, value, expectedRevision: 0 }])
    assert.equal((await patch('old', { metadata: { labels: { a: 'b' } } })).code, 200)
    assert.equal((await patch('old', { status: { phase: 'Running' } }, '/status')).code, 200)
    const worse = { containers: [{ name: 'Old', image: 'old', imagePullPolicy: 'Often' }] }
    assert.ok((await refusedFields('old', worse)).includes('spec.containers[0].imagePullPolicy'))
    assert.equal((await server.call('DELETE', `${pods}/old`)).code, 200)
  })
})
