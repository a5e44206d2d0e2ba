import assert from 'node:assert/strict'
import { describe, mock, test } from 'node:test'
import type { BaseContext } from '../../../src/controllers/base-context.ts'
import { createEndpointSliceController } from '../../../src/controllers/endpoints/index.ts'
import { type GraphNode, OwnerGraph } from '../../../src/controllers/garbage/owner-graph.ts'
import { planCollection } from '../../../src/controllers/garbage/plan.ts'
import { createNodeLifecycleController } from '../../../src/controllers/nodes/lifecycle-controller.ts'
import { podSchema } from '../../../src/controllers/objects/pod.ts'
import type { Controller } from '../../../src/controllers/runtime/controller.ts'
import { ObjectCache } from '../../../src/controllers/runtime/object-cache.ts'
import { ObjectIndex } from '../../../src/controllers/runtime/object-index.ts'
import type { CachedObject } from '../../../src/controllers/runtime/resource-type.ts'
import {
  createDaemonSetController,
  createDeploymentController,
  createReplicaSetController,
  createStatefulSetController,
} from '../../../src/controllers/workloads/controllers.ts'
import { statefulSetSchema } from '../../../src/controllers/workloads/shapes.ts'
import { planStatefulSet } from '../../../src/controllers/workloads/stateful-set/plan.ts'
import { assertLinear } from '../../helpers/growth.ts'
import { MemoryCluster, settled } from '../../helpers/memory-cluster.ts'
import type { AnyObject } from '../../helpers/simulated-cluster.ts'
import { until } from '../../helpers/until.ts'

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)
const namespace = 'default'

/** Runs controllers until nothing is left to do, then the change, and to the end of what follows from it. */
async function run<K extends BaseContext>(
  kit: K,
  create: readonly ((kit: K) => unknown)[],
  change: () => void = () => {},
): Promise<void> {
  const controllers = create.map((each) => each(kit) as Controller)
  for (const controller of controllers) await controller.start()
  await settled(controllers)
  change()
  await settled(controllers)
  for (const controller of controllers) await controller.stop({ signal: AbortSignal.timeout(1_000) })
}

function ready(status: 'True' | 'False', at = '2026-01-01T00:00:00Z') {
  return { conditions: [{ type: 'Ready', status, lastTransitionTime: at }] }
}

function pod(name: string, app: string, metadata: object = {}): AnyObject {
  const spec = { nodeName: 'n1', containers: [] }
  const status = { phase: 'Running', podIPs: [{ ip: '10.0.0.1' }], ...ready('True') }
  return { metadata: { namespace, name, labels: { app }, ...metadata }, spec, status }
}

function workload(name: string, replicas: number, more: object = {}): AnyObject {
  const template = { metadata: { labels: { app: name } }, spec: { containers: [] } }
  const spec = { replicas, selector: { matchLabels: { app: name } }, template, serviceName: name, ...more }
  return { metadata: { namespace, name, generation: 1 }, spec }
}

function owner(kind: string, { metadata }: AnyObject) {
  return { apiVersion: 'apps/v1', kind, name: metadata.name, uid: metadata.uid, controller: true }
}

/** How many objects all indexes gave out meanwhile: what controllers looked at. */
async function countReads(work: () => Promise<void>): Promise<number> {
  let reads = 0
  const get = ObjectIndex.prototype.get
  const counting = mock.method(ObjectIndex.prototype, 'get', function (this: ObjectIndex<CachedObject>, value: string) {
    const found = get.call(this, value)
    reads += found.length
    return found
  })
  await work()
  counting.mock.restore()
  return reads
}

const [many, each] = [40, 10]
/** A few looks at each object; each look of every owner at all of them would be more than a hundred. */
const fewEach = 12

describe('controllers: with many of two kinds in one namespace each looks at its own', () => {
  test('ReplicaSets and the pods they own, each of which changes', async () => {
    const cluster = new MemoryCluster()
    const pods = numbers(many).flatMap((set) => {
      const owned = { ownerReferences: [owner('ReplicaSet', cluster.put('replicasets', workload(`s${set}`, each)))] }
      return numbers(each).map((index) => cluster.put('pods', pod(`s${set}-${index}`, `s${set}`, owned)))
    })
    const change = () => {
      for (const { metadata } of pods)
        cluster.put('pods', { metadata: { namespace, name: metadata.name }, status: ready('False') })
    }
    const reads = await countReads(() => run(cluster.context, [createReplicaSetController], change))
    assert.equal(cluster.requests.get('patch status of replicasets'), 2 * many)
    assert.ok(reads >= pods.length && reads <= fewEach * pods.length, `${reads} reads of ${pods.length} pods`)
  })

  test('ReplicaSets and pods that none of them selects', async () => {
    const cluster = new MemoryCluster()
    for (const set of numbers(many)) cluster.put('replicasets', workload(`s${set}`, 0))
    for (const index of numbers(many * each)) cluster.put('pods', pod(`p${index}`, 'bare'))
    const reads = await countReads(() => run(cluster.context, [createReplicaSetController]))
    assert.deepEqual([...cluster.requests], [['patch status of replicasets', many]])
    assert.equal(reads, 0)
  })

  test('Deployments that make their pods', async () => {
    const cluster = new MemoryCluster()
    for (const index of numbers(many)) cluster.put('deployments', workload(`d${index}`, each))
    const controllers = [createReplicaSetController, createDeploymentController].map(
      (create) => create(cluster.context) as Controller,
    )
    const reads = await countReads(async () => {
      for (const controller of controllers) await controller.start()
      // They look again when a deadline passes, so they are never idle.
      while ((cluster.requests.get('patch status of replicasets') ?? 0) < many)
        await new Promise((resolve) => setImmediate(resolve))
      for (const controller of controllers) await controller.stop({ signal: AbortSignal.timeout(1_000) })
    })
    assert.equal(cluster.requests.get('create pods'), many * each)
    assert.ok(reads > 0 && reads <= fewEach * many * each, `${reads} reads of ${many * each} pods`)
  })

  test('StatefulSets and their revisions and pods', async () => {
    const cluster = new MemoryCluster()
    for (const set of numbers(many))
      cluster.put('statefulsets', workload(`s${set}`, each, { podManagementPolicy: 'Parallel' }))
    const reads = await countReads(() => run(cluster.context, [createStatefulSetController]))
    assert.equal(cluster.requests.get('create pods'), many * each)
    assert.ok(reads > 0 && reads <= fewEach * many * each, `${reads} reads of ${many * each} pods`)
  })

  test('Services that ask for one label in common, and pods', async () => {
    const cluster = new MemoryCluster()
    cluster.put('nodes', { metadata: { name: 'n1' } })
    for (const index of numbers(many)) {
      const labels = { 'part-of': 'shop', app: `a${index}` }
      const spec = { selector: labels, clusterIP: '10.96.0.1', ports: [{ port: 80 }] }
      cluster.put('services', { metadata: { namespace, name: `s${index}` }, spec })
      cluster.put('pods', pod(`p${index}`, '', { labels }))
    }
    const change = () => {
      for (const index of numbers(many))
        cluster.put('pods', { metadata: { namespace, name: `p${index}` }, status: ready('False') })
    }
    const reads = await countReads(() => run(cluster.context, [createEndpointSliceController], change))
    assert.equal(cluster.requests.get('update endpointslices'), many)
    assert.ok(reads > 0 && reads <= fewEach * many, `${reads} reads of ${many} pods and their slices`)
  })

  test('Services over the same pods, of which one changes', async () => {
    const cluster = new MemoryCluster()
    cluster.put('nodes', { metadata: { name: 'n1' } })
    const spec = { selector: { app: 'web' }, clusterIP: '10.96.0.1', ports: [{ port: 80 }] }
    for (const index of numbers(each)) cluster.put('services', { metadata: { namespace, name: `s${index}` }, spec })
    for (const index of numbers(150)) cluster.put('pods', pod(`p${index}`, 'web'))
    const controller = createEndpointSliceController(cluster.context)
    await controller.start()
    await settled([controller])
    const change = async (status: object) => {
      cluster.requests.clear()
      cluster.put('pods', { metadata: { namespace, name: 'p7' }, status })
      await settled([controller])
    }
    const reads = await countReads(() => change(ready('False', '2026-01-02T00:00:00Z')))
    assert.deepEqual([...cluster.requests], [['update endpointslices', each]])
    // Of each Service its two slices.
    assert.ok(reads > 0 && reads <= 4 * each, `${reads} reads`)
    await change({ phase: 'Failed' })
    assert.deepEqual([...cluster.requests], [['update endpointslices', each]])
    const { metadata, endpoints } = [...cluster.context.caches.of(cluster.context.types.endpointSlices).list()][0] ?? {}
    assert.ok(metadata !== undefined && endpoints !== undefined)
    cluster.requests.clear()
    cluster.put('endpointslices', { metadata: { namespace, name: metadata.name }, endpoints: [] })
    await settled([controller])
    assert.deepEqual([...cluster.requests], [['update endpointslices', 1]], 'what others write is set right')
    await controller.stop({ signal: AbortSignal.timeout(1_000) })
  })

  test('Nodes of which none is well: the heartbeat of one asks for no other', async () => {
    const cluster = new MemoryCluster()
    const beat = (index: number, at: string) => {
      const condition = { type: 'Ready', status: 'Unknown', lastHeartbeatTime: at }
      cluster.put('nodes', { metadata: { name: `n${index}` }, status: { conditions: [condition] } })
    }
    for (const index of numbers(each)) beat(index, 'before')
    const controller = createNodeLifecycleController(cluster.context, () => 3_600_000) as Controller
    const list = mock.method(ObjectCache.prototype, 'list')
    await controller.start()
    // Each is tainted, and hears of that.
    await until('all are tainted', () => (cluster.passes.get('nodelifecycle') ?? 0) >= 2 * each)
    for (const index of numbers(each)) beat(index, 'after')
    await until('all were looked at', () => (cluster.passes.get('nodelifecycle') ?? 0) >= 3 * each)
    await controller.stop({ signal: AbortSignal.timeout(1_000) })
    list.mock.restore()
    assert.equal(list.mock.callCount(), 0)
  })
})

test('a StatefulSet of many pods is planned in time proportional to their number', () => {
  const labels = { podName: 'pod-name', podIndex: 'pod-index', revision: 'revision' }
  const pods = numbers(8_000).map((index) => podSchema.parse(pod(`s-${index}`, 's')))
  assertLinear('StatefulSet', 2_000, (replicas) => {
    const set = statefulSetSchema.parse(workload('s', replicas, { podManagementPolicy: 'Parallel' }))
    const there = pods.slice(0, replicas - 100)
    const { writes } = planStatefulSet({
      set,
      pods: there,
      revisions: [],
      findClaim: () => undefined,
      labels,
      nowMs: 0,
    })
    assert.equal(writes.filter(({ verb }) => verb === 'create').length, 1 + 100)
  })
})

test("a node's heartbeat wakes no DaemonSet, its labels and taints do", async () => {
  const cluster = new MemoryCluster()
  cluster.put('daemonsets', workload('d', 0))
  const metadata = { name: 'n1', labels: {} }
  cluster.put('nodes', { metadata })
  const isWoken: boolean[] = []
  const changes = [
    { metadata, status: ready('True', 'later') },
    { metadata: { ...metadata, annotations: { seen: 'now' } } },
    { metadata: { ...metadata, labels: { disk: 'fast' } } },
    { metadata, spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } },
  ]
  const controller = createDaemonSetController(cluster.context) as Controller
  await controller.start()
  await settled([controller])
  for (const change of changes) {
    cluster.passes.clear()
    cluster.put('nodes', change)
    await settled([controller])
    isWoken.push(cluster.passes.has('daemonset'))
  }
  await controller.stop({ signal: AbortSignal.timeout(1_000) })
  assert.deepEqual(isWoken, [false, false, true, true])
})

describe('the garbage collector', () => {
  const resource = { group: '', version: 'v1', resource: 'pods', kind: 'Pod', namespaced: true }
  const node = (uid: string, owners: readonly string[] = [], more: object = {}): GraphNode => {
    const ownerReferences = owners.map((name) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      name,
      uid: name,
      controller: false,
      blockOwnerDeletion: true,
    }))
    const identity = { name: uid, namespace, uid, resourceVersion: '1', finalizers: [], ownerReferences }
    return { resource, metadata: { ...identity, deletionTimestamp: undefined, ...more } }
  }

  test('looks at no owner when what it owns changes its status, nor at what a leaving owner owns when that does', () => {
    const graph = new OwnerGraph()
    graph.change(undefined, node('owner'))
    const child = node('child', ['owner'])
    assert.deepEqual(graph.change(undefined, child), ['child', 'owner'])
    assert.deepEqual(graph.change(child, node('child', ['owner'], { resourceVersion: '2' })), [])
    assert.equal(graph.get('child')?.metadata.resourceVersion, '2')
    const leaving = { deletionTimestamp: 'now', finalizers: ['foregroundDeletion'] }
    assert.deepEqual(graph.change(node('owner'), node('owner', [], leaving)), ['owner', 'child'])
    const reported = node('owner', [], { ...leaving, resourceVersion: '3' })
    assert.deepEqual(graph.change(node('owner', [], leaving), reported), [])
    const free = node('owner', [], { ...leaving, finalizers: [], resourceVersion: '4' })
    assert.deepEqual(graph.change(reported, free), ['owner', 'child'])
  })

  test('asks what an object owns only when it leaves', () => {
    const graph = new OwnerGraph()
    graph.change(undefined, node('owner'))
    for (const index of numbers(50)) graph.change(undefined, node(`p${index}`, ['owner']))
    const asked = mock.method(graph, 'dependentsOf')
    planCollection(node('owner'), graph, () => false)
    planCollection(node('owner', [], { deletionTimestamp: 'now' }), graph, () => false)
    assert.equal(asked.mock.callCount(), 0)
    const leaving = node('owner', [], { deletionTimestamp: 'now', finalizers: ['foregroundDeletion'] })
    assert.equal(planCollection(leaving, graph, () => false).writes.length, 50)
  })

  test('takes one of many owners away with a few looks at each', () => {
    const graph = new OwnerGraph()
    const owners = numbers(100).map((index) => `o${index}`)
    for (const uid of owners.slice(1)) graph.change(undefined, node(uid))
    const child = node('child', owners)
    let looks = 0
    for (const reference of child.metadata.ownerReferences) {
      const { uid } = reference
      const look = () => {
        looks += 1
        return uid
      }
      Object.defineProperty(reference, 'uid', { get: look, enumerable: true })
    }
    const { writes } = planCollection(child, graph, () => true)
    assert.equal(writes.length, 1)
    assert.ok(looks >= 100 && looks <= 1_000, `${looks} looks at 100 owners`)
  })
})
