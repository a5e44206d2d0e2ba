import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'

const pathOf = (version: string) => `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`
const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }
const memory = { type: 'Resource', resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1Gi' } } }
const share = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 60 } } }
const hits = {
  type: 'Object',
  object: {
    describedObject: { apiVersion: 'v1', kind: 'Service', name: 's' },
    metric: { name: 'hits', selector: { matchLabels: { a: 'b' } } },
    target: { type: 'Value', value: '5' },
  },
}
const queue = {
  type: 'External',
  external: { metric: { name: 'queue' }, target: { type: 'AverageValue', averageValue: '3' } },
}

describe('a HorizontalPodAutoscaler in its two versions', () => {
  let server: TestServer
  before(async () => {
    server = await startTestServer()
  })
  after(() => server.stop())

  test('is one object: version 1 shows the share of CPU as a field and all else as annotations, and loses nothing', async () => {
    const spec = {
      scaleTargetRef,
      maxReplicas: 9,
      metrics: [memory, hits, queue, share],
      behavior: {
        scaleDown: { stabilizationWindowSeconds: 5, policies: [{ type: 'Pods', value: 1, periodSeconds: 9 }] },
      },
    }
    const made = await server.call('POST', pathOf('v2'), { body: { metadata: { name: 'whole' }, spec } })
    assert.equal(made.code, 201, made.text)
    const { body: v1 } = await server.call('GET', `${pathOf('v1')}/whole`)
    assert.equal(v1.apiVersion, 'autoscaling/v1')
    assert.deepEqual(v1.spec, { scaleTargetRef, minReplicas: 1, maxReplicas: 9, targetCPUUtilizationPercentage: 60 })
    const texts = v1.metadata.annotations
    assert.deepEqual(JSON.parse(texts['autoscaling.alpha.kubernetes.io/metrics']), [
      { type: 'Resource', resource: { name: 'memory', targetAverageValue: '1Gi' } },
      {
        type: 'Object',
        object: {
          target: hits.object.describedObject,
          metricName: 'hits',
          selector: { matchLabels: { a: 'b' } },
          targetValue: '5',
        },
      },
      { type: 'External', external: { metricName: 'queue', targetAverageValue: '3' } },
    ])
    assert.deepEqual(JSON.parse(texts['autoscaling.alpha.kubernetes.io/behavior']).ScaleDown, {
      SelectPolicy: 'Max',
      Policies: [{ Type: 'Pods', Value: 1, PeriodSeconds: 9 }],
      StabilizationWindowSeconds: 5,
    })
    const put = await server.call('PUT', `${pathOf('v1')}/whole`, {
      body: { ...v1, spec: { ...v1.spec, maxReplicas: 8 } },
    })
    assert.equal(put.code, 200, put.text)
    const { body: v2 } = await server.call('GET', `${pathOf('v2')}/whole`)
    assert.deepEqual(v2.spec, { ...made.body.spec, maxReplicas: 8 })
    assert.equal(v2.metadata.annotations, undefined)
  })

  test('made in version 1 without a target has CPU at 80 % in both, and its status goes over', async () => {
    const body = { metadata: { name: 'plain' }, spec: { scaleTargetRef, maxReplicas: 3 } }
    const made = await server.call('POST', pathOf('v1'), { body })
    assert.equal(made.body.spec.targetCPUUtilizationPercentage, 80, made.text)
    const { body: v2 } = await server.call('GET', `${pathOf('v2')}/plain`)
    assert.deepEqual(v2.spec.metrics[0].resource.target, { type: 'Utilization', averageUtilization: 80 })
    const current = { averageUtilization: 33, averageValue: '33m' }
    const status = {
      currentReplicas: 1,
      desiredReplicas: 2,
      currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current } }],
      conditions: [{ type: 'AbleToScale', status: 'True', reason: 'ReadyForNewScale', message: 'm' }],
    }
    const headers = { 'content-type': 'application/merge-patch+json' }
    const set = await server.call('PATCH', `${pathOf('v2')}/plain/status`, { body: { status }, headers })
    assert.equal(set.code, 200, set.text)
    const { body: v1 } = await server.call('GET', `${pathOf('v1')}/plain`)
    assert.deepEqual(v1.status, { currentReplicas: 1, desiredReplicas: 2, currentCPUUtilizationPercentage: 33 })
    const kept = await server.call('PATCH', `${pathOf('v1')}/plain/status`, {
      body: { status: { desiredReplicas: 3 } },
      headers,
    })
    assert.equal(kept.code, 200, kept.text)
    const after = (await server.call('GET', `${pathOf('v2')}/plain`)).body.status
    assert.deepEqual(after, { ...status, desiredReplicas: 3 })
  })

  test('an annotation with anything but the fields of version 2 counts as absent, and a broken value is refused', async () => {
    const name = 'autoscaling.alpha.kubernetes.io/metrics'
    const make = (text: string, dry = '') =>
      server.call('POST', `${pathOf('v1')}${dry}`, {
        body: {
          metadata: { generateName: 'h-', annotations: { [name]: text } },
          spec: { scaleTargetRef, maxReplicas: 3 },
        },
      })
    for (const text of [
      '',
      '{',
      '7',
      '[7]',
      '{"a":1}',
      '[{"type":5}]',
      '[{"type":"Resource","resource":{"name":{}}}]',
    ]) {
      const made = await make(text)
      assert.equal(made.code, text === '[7]' ? 422 : 201, `${text}: ${made.text}`)
    }
    const refused = await make('[{"type":"Resource","resource":{"name":"cpu","targetAverageValue":"0"}}]')
    assert.equal(refused.body.details.causes[0].field, 'spec.metrics[0].resource.target.averageValue')
  })

  test('lists as kubectl shows it, in both versions', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io'
    for (const version of ['v1', 'v2']) {
      const { body } = await server.call('GET', `${pathOf(version)}/whole`, { headers: { accept } })
      const names = body.columnDefinitions.map(({ name }: { name: string }) => name)
      assert.deepEqual(names, ['Name', 'Reference', 'Targets', 'MinPods', 'MaxPods', 'Replicas', 'Age'])
      const cells = body.rows[0].cells.slice(0, 6)
      const targets = 'memory: <unknown>/1Gi, <unknown>/5 + 2 more...'
      assert.deepEqual(cells, ['whole', 'Deployment/web', targets, '1', 8, 0])
    }
    const { body } = await server.call('GET', `${pathOf('v2')}/plain`, { headers: { accept } })
    assert.equal(body.rows[0].cells[2], 'cpu: 33%/80%')
  })
})
