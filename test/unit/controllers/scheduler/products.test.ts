import assert from 'node:assert/strict'
import { describe, mock, test } from 'node:test'
import { nodeSchema } from '../../../../src/controllers/objects/node.ts'
import { podSchema } from '../../../../src/controllers/objects/pod.ts'
import type { Controller } from '../../../../src/controllers/runtime/controller.ts'
import { ObjectCache } from '../../../../src/controllers/runtime/object-cache.ts'
import { demandOf, loadNodes } from '../../../../src/controllers/scheduler/placed-pod.ts'
import { Placements } from '../../../../src/controllers/scheduler/plan.ts'
import { planPreemption } from '../../../../src/controllers/scheduler/preemption.ts'
import { createScheduler } from '../../../../src/controllers/scheduler/scheduler.ts'
import { MemoryCluster, settled } from '../../../helpers/memory-cluster.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)
const namespace = 'default'

function demand(name: string, cpu: string, priority = 0) {
  const metadata = { name, namespace, labels: { app: 'a' } }
  const spec = { priority, containers: [{ resources: { requests: { cpu } } }] }
  return demandOf(podSchema.parse({ metadata, spec }), {})
}

/** Nodes that count how often someone looks at what they take. */
function countingNodes(count: number, cpu: string) {
  const looks = { count: 0 }
  const nodes = numbers(count).map((index) => {
    const node = nodeSchema.parse({ metadata: { name: `n${index}` }, status: { allocatable: { cpu } } })
    const { spec } = node
    const look = () => {
      looks.count += 1
      return spec
    }
    return Object.defineProperty(node, 'spec', { get: look })
  })
  return { nodes, looks }
}

describe('many pods that ask for the same and many nodes', () => {
  const [nodeCount, podCount] = [50, 100]
  /** Two filters and a score ask for taints. */
  const eachLook = 4

  test('each node is looked at once, and once again when it got a pod', () => {
    const { nodes, looks } = countingNodes(nodeCount, '2')
    const pass = new Placements(loadNodes(nodes, []), 'unschedulable')
    for (const index of numbers(podCount)) {
      const pod = demand(`p${index}`, '1')
      const placement = pass.plan(pod)
      assert.ok(placement.kind === 'placed')
      pass.place(placement.node, pod)
    }
    assert.ok(looks.count > 0 && looks.count <= eachLook * (nodeCount + podCount), `${looks.count} looks`)
  })

  test('where none has room each is looked at once', () => {
    const { nodes, looks } = countingNodes(nodeCount, '2')
    const pass = new Placements(loadNodes(nodes, []), 'unschedulable')
    for (const index of numbers(podCount)) {
      const placement = pass.plan(demand(`p${index}`, '3'))
      assert.deepEqual(placement, { kind: 'unschedulable', message: '0/50 nodes are available: 50 Insufficient cpu.' })
    }
    assert.ok(looks.count > 0 && looks.count <= eachLook * nodeCount, `${looks.count} looks`)
  })

  test('an important pod asks nothing of nodes without less important ones', () => {
    const { nodes, looks } = countingNodes(nodeCount, '2')
    const placed = numbers(nodeCount).map((index) => {
      const each = demand(`p${index}`, '2', index === 7 ? 0 : 5)
      return { ...each, pod: { ...each.pod, spec: { ...each.pod.spec, nodeName: `n${index}` } } }
    })
    const preemption = planPreemption(demand('important', '2', 5), loadNodes(nodes, placed), 'unschedulable')
    assert.equal(preemption?.node, 'n7')
    assert.ok(looks.count > 0 && looks.count <= 4 * eachLook, `${looks.count} looks`)
  })
})

test('heartbeats of nodes and pods that become ready wake no scheduler, and without waiting pods none looks at all', async () => {
  const cluster = new MemoryCluster()
  const node = (change: object) => cluster.put('nodes', { metadata: { name: 'n1' }, ...change })
  const pod = (change: object) => cluster.put('pods', { metadata: { namespace, name: 'p' }, ...change })
  node({ status: { allocatable: { cpu: '1' } } })
  pod({ spec: { containers: [{ resources: { requests: { cpu: '2' } } }] }, status: { phase: 'Pending' } })
  const scheduler = createScheduler(cluster.context) as Controller
  await scheduler.start()
  await settled([scheduler])
  const isWokenBy = async (change: () => void) => {
    cluster.passes.clear()
    change()
    await settled([scheduler])
    return cluster.passes.has('scheduler')
  }
  const conditions = (at: string) => ({ conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: at }] })
  assert.equal(await isWokenBy(() => node({ status: conditions('now') })), false)
  assert.equal(await isWokenBy(() => pod({ status: conditions('now') })), false)
  assert.equal(await isWokenBy(() => node({ metadata: { name: 'n1', labels: { disk: 'fast' } } })), true)
  assert.equal(await isWokenBy(() => node({ status: { allocatable: { cpu: '2' } } })), true)
  assert.equal(cluster.requests.get('create binding of pods'), 1)
  const list = mock.method(ObjectCache.prototype, 'list')
  assert.equal(await isWokenBy(() => node({ status: { allocatable: { cpu: '3' } } })), true)
  list.mock.restore()
  assert.equal(list.mock.callCount(), 0)
  await scheduler.stop({ signal: AbortSignal.timeout(1_000) })
})
