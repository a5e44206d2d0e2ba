import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { createAutoscalingController } from '../../../../src/controllers/autoscaling/autoscaling-controller.ts'
import { startTestServer, type TestServer } from '../../../helpers/api-server.ts'
import { hollowNode, runControllers, workloadControllers } from '../../../helpers/controller-lab.ts'
import { autoscalingDefaults } from '../../../helpers/controller-settings.ts'
import { untilAsync } from '../../../helpers/until.ts'

const core = '/api/v1/namespaces/default'
const autoscalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers'
const gadgets = '/apis/example.com/v1/namespaces/default/gadgets'
const deployments = '/apis/apps/v1/namespaces/default/deployments'
const mergePatch = { 'content-type': 'application/merge-patch+json' }
const settings = { ...autoscalingDefaults, syncPeriodMs: 100, cpuInitializationPeriodMs: 0, initialReadinessDelayMs: 0 }

const definition = {
  metadata: { name: 'gadgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'gadgets', kind: 'Gadget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.size',
            statusReplicasPath: '.status.size',
            labelSelectorPath: '.status.selector',
          },
        },
      },
    ],
  },
}

describe('autoscalers', () => {
  let server: TestServer
  let agent: Server
  let controllers: AsyncDisposable
  /** CPU that every pod of a Deployment or Gadget with this label uses, in cores. */
  let cores: Record<string, number> = {}

  before(async () => {
    server = await startTestServer({ readsUsage: true })
    await server.call('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { body: definition })
    await startNode()
    controllers = await runControllers(server, (kit) => [
      ...workloadControllers(kit),
      hollowNode(kit),
      createAutoscalingController(kit, settings),
    ])
  })
  after(async () => {
    await controllers[Symbol.asyncDispose]()
    agent.close()
    await server.stop()
  })

  /** A node whose agent reports each pod by the load of its label. */
  const startNode = async () => {
    const { certPem, keyPem } = await server.authority.issue('server')
    agent = createServer({ cert: certPem, key: keyPem }, async (_, response) => {
      const { items } = (await server.call('GET', `${core}/pods`)).body
      const nowMs = Date.now()
      const lines = items.flatMap(({ metadata }: { metadata: { name: string; labels: { app: string } } }) => {
        const labels = `{container="c",namespace="default",pod="${metadata.name}"}`
        const seconds = (cores[metadata.labels.app] ?? 0) * (nowMs / 1000)
        return [
          `container_cpu_usage_seconds_total${labels} ${seconds} ${nowMs}`,
          `container_memory_working_set_bytes${labels} 1048576 ${nowMs}`,
          `container_start_time_seconds${labels} 5 ${nowMs}`,
        ]
      })
      response.end(`${lines.join('\n')}\n`)
    })
    await new Promise<void>((resolve) => {
      agent.listen(0, '127.0.0.1', resolve)
    })
    const status = {
      addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
      daemonEndpoints: { kubeletEndpoint: { Port: (agent.address() as AddressInfo).port } },
    }
    await server.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'node' }, status } })
  }

  const make = async (path: string, body: object) => {
    const made = await server.call('POST', path, { body })
    assert.equal(made.code, 201, made.text)
  }
  const get = async (path: string) => (await server.call('GET', path)).body
  const makePod = (name: string, app: string) =>
    make(`${core}/pods`, {
      metadata: { name, labels: { app } },
      spec: { nodeName: 'node', containers: [{ name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }] },
    })
  const makeGadget = async (name: string, size: number) => {
    await make(gadgets, { apiVersion: 'example.com/v1', kind: 'Gadget', metadata: { name }, spec: { size } })
    const body = { status: { size, selector: `app=${name}` } }
    await server.call('PATCH', `${gadgets}/${name}/status`, { body, headers: mergePatch })
  }
  const scales = (name: string, kind: string, spec: object = {}) =>
    make(autoscalers, {
      metadata: { name },
      spec: {
        scaleTargetRef: { apiVersion: kind === 'Gadget' ? 'example.com/v1' : 'apps/v1', kind, name },
        maxReplicas: 5,
        metrics: [
          { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } },
        ],
        behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
        ...spec,
      },
    })
  const conditionOf = async (name: string, type: string) => {
    const { status } = await get(`${autoscalers}/${name}`)
    return status?.conditions?.find((each: { type: string }) => each.type === type)
  }
  const untilReason = (name: string, type: string, reason: string) =>
    untilAsync(`${name} has ${type} ${reason}`, async () => (await conditionOf(name, type))?.reason === reason, 15_000)
  const hasEvent = async (name: string, reason: string) => {
    const { items } = await get(`${core}/events?fieldSelector=involvedObject.name%3D${name}`)
    return items.some((event: { reason: string }) => event.reason === reason)
  }
  const stamp = () => ({ startTime: new Date(0).toISOString() })

  test('a custom resource is scaled by its /scale, up to the limit of its figures, and Events tell it', async () => {
    // Also of the pod of a later test: the first question makes two readings, and the next reading comes 15 s later.
    cores = { gadget: 1, steady: 0.6 }
    await makeGadget('gadget', 2)
    for (const [name, app] of [
      ['g1', 'gadget'],
      ['g2', 'gadget'],
      ['s1', 'steady'],
    ] as const) {
      await makePod(name, app)
      await server.call('PATCH', `${core}/pods/${name}/status`, { body: { status: stamp() }, headers: mergePatch })
    }
    await scales('gadget', 'Gadget')
    await untilAsync('it has grown', async () => (await get(`${gadgets}/gadget`)).spec.size === 4, 15_000)
    await untilAsync('its Event is there', () => hasEvent('gadget', 'SuccessfulRescale'))
    const { status } = await get(`${autoscalers}/gadget`)
    const { current } = status.currentMetrics[0].resource
    assert.ok(Math.abs(current.averageUtilization - 100) <= 2, JSON.stringify(current))
    assert.ok(status.lastScaleTime)
  })

  test('two autoscalers of the same pods scale nothing and both say so', async () => {
    await scales('rival', 'Gadget', {
      scaleTargetRef: { apiVersion: 'example.com/v1', kind: 'Gadget', name: 'gadget' },
    })
    for (const name of ['gadget', 'rival']) await untilReason(name, 'ScalingActive', 'AmbiguousSelector')
    await server.call('DELETE', `${autoscalers}/rival`)
    await untilReason('gadget', 'ScalingActive', 'ValidMetricFound')
  })

  test('a target that is not there, has no scale, or goes away is said, and found again', async () => {
    await scales('lost', 'Deployment')
    await scales('mute', 'Event')
    for (const name of ['lost', 'mute']) await untilReason(name, 'AbleToScale', 'FailedGetScale')
    assert.match((await conditionOf('mute', 'AbleToScale')).message, /no kind "Event" with the subresource scale/)
    await server.call('DELETE', `${gadgets}/gadget`)
    await untilReason('gadget', 'AbleToScale', 'FailedGetScale')
    await untilAsync('an Event says it', () => hasEvent('gadget', 'FailedGetScale'))
    await makeGadget('gadget', 6)
    await untilAsync('it is scaled again', async () => (await get(`${gadgets}/gadget`)).spec.size <= 5, 15_000)
  })

  test('a setting that changes meanwhile holds from the next pass on', async () => {
    settings.tolerance = 0.5
    await makeGadget('steady', 1)
    await scales('steady', 'Gadget')
    await untilReason('steady', 'ScalingActive', 'ValidMetricFound')
    assert.equal((await get(`${gadgets}/steady`)).spec.size, 1, 'a ratio of 1.2 is within the tolerance')
    settings.tolerance = autoscalingDefaults.tolerance
    await untilAsync('it has grown', async () => (await get(`${gadgets}/steady`)).spec.size === 2, 15_000)
  })

  test('a Deployment goes into its range at once, and pods without figures are said', async () => {
    const labels = { app: 'web' }
    const container = { name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }
    await make(deployments, {
      metadata: { name: 'web' },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container] } },
      },
    })
    await scales('web', 'Deployment', { minReplicas: 3 })
    await untilAsync('it has three', async () => (await get(`${deployments}/web`)).spec.replicas === 3, 15_000)
    await untilReason('web', 'ScalingActive', 'FailedGetResourceMetric')
    assert.match((await conditionOf('web', 'ScalingActive')).message, /no metrics returned from resource metrics API/)
    const { spec } = await get(`${deployments}/web`)
    assert.equal(spec.replicas, 3)
  })
})
