import assert from 'node:assert/strict'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { createAutoscalingController } from '../../../src/controllers/autoscaling/autoscaling-controller.ts'
import { startTestServer, type TestServer } from '../../helpers/api-server.ts'
import { runControllers } from '../../helpers/controller-lab.ts'
import { autoscalingDefaults } from '../../helpers/controller-settings.ts'
import { untilAsync } from '../../helpers/until.ts'

const count = 1000
const inDefault = '/namespaces/default'
const mergePatch = { 'content-type': 'application/merge-patch+json' }
const autoscalers = `/apis/autoscaling/v2${inDefault}/horizontalpodautoscalers`

async function makeTarget(server: TestServer, name: string): Promise<void> {
  const labels = { app: name }
  const container = { name: 'c', image: 'i', resources: { requests: { cpu: '1' } } }
  const template = { metadata: { labels }, spec: { containers: [container] } }
  const post = async (path: string, body: object) => {
    const made = await server.call('POST', path, { body })
    assert.equal(made.code, 201, made.text)
  }
  await post(`/apis/apps/v1${inDefault}/deployments`, {
    metadata: { name },
    spec: { replicas: 1, selector: { matchLabels: labels }, template },
  })
  await post(`/api/v1${inDefault}/pods`, {
    metadata: { name, labels },
    spec: { nodeName: 'node', containers: [container] },
  })
  const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }
  const status = { phase: 'Running', startTime: '2026-01-01T00:00:00Z', conditions: [ready] }
  await server.call('PATCH', `/api/v1${inDefault}/pods/${name}/status`, { body: { status }, headers: mergePatch })
  await post(autoscalers, {
    metadata: { name },
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name }, maxReplicas: 5 },
  })
}

/** An agent that reports 0.8 CPUs of each pod: the target of 80 %, so that nothing is scaled. */
async function startAgent(server: TestServer): Promise<AsyncDisposable> {
  const { certPem, keyPem } = await server.authority.issue('server')
  const agent = createServer({ cert: certPem, key: keyPem }, (_, response) => {
    const nowMs = Date.now()
    const lines = Array.from({ length: count }, (_each, index) => {
      const labels = `{container="c",namespace="default",pod="t${index}"}`
      return [
        `container_cpu_usage_seconds_total${labels} ${(nowMs / 1000) * 0.8} ${nowMs}`,
        `container_memory_working_set_bytes${labels} 1048576 ${nowMs}`,
      ].join('\n')
    })
    response.end(`${lines.join('\n')}\n`)
  })
  await new Promise<void>((resolve) => {
    agent.listen(0, '127.0.0.1', resolve)
  })
  const kubeletEndpoint = { Port: (agent.address() as AddressInfo).port }
  const status = { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }], daemonEndpoints: { kubeletEndpoint } }
  await server.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'node' }, status } })
  return {
    [Symbol.asyncDispose]: async () => {
      agent.close()
    },
  }
}

test('a thousand autoscalers, each worked on every 15 s, cost less than a third of a core with their API server', async (context) => {
  await using server = await startTestServer({ readsUsage: true })
  await using _agent = await startAgent(server)
  for (let first = 0; first < count; first += 20)
    await Promise.all(Array.from({ length: 20 }, (_, index) => makeTarget(server, `t${first + index}`)))
  await using _controllers = await runControllers(server, (kit) => [
    createAutoscalingController(kit, autoscalingDefaults),
  ])
  const countActive = async () => {
    const { items } = (await server.call('GET', autoscalers)).body
    return items.filter(({ status }: { status: { conditions?: readonly { reason: string }[] } }) =>
      status.conditions?.some(({ reason }) => reason === 'ValidMetricFound'),
    ).length
  }
  const startedMs = performance.now()
  await untilAsync('each has a figure', async () => (await countActive()) === count, 60_000)
  const firstMs = performance.now() - startedMs
  const before = process.cpuUsage()
  const measuredMs = 45_000
  await new Promise((resolve) => setTimeout(resolve, measuredMs))
  const { user, system } = process.cpuUsage(before)
  const share = (user + system) / 1000 / measuredMs
  context.diagnostic(
    `the first pass over ${count}: ${Math.round(firstMs)} ms; then ${(share * 100).toFixed(1)} % of a core`,
  )
  context.diagnostic(`resident memory: ${Math.round(process.memoryUsage.rss() / 1024 / 1024)} MiB`)
  assert.ok(share < 0.33, `${share} of a core`)
})
