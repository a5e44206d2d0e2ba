import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { nodeSchema } from '../../../../src/controllers/objects/node.ts'
import { podSchema } from '../../../../src/controllers/objects/pod.ts'
import { planDaemonSet } from '../../../../src/controllers/workloads/daemon-set/plan.ts'
import { controllerRevisionSchema, daemonSetSchema } from '../../../../src/controllers/workloads/shapes.ts'
import { canonicalJson } from '../../../../src/controllers/workloads/template.ts'
import { readyStatus, SimulatedCluster } from '../../../helpers/simulated-cluster.ts'

const toleratedTaints = { noExecute: ['not-ready'], noSchedule: ['unschedulable'], networkUnavailable: 'no-network' }

function startLab(spec: object = {}, podSpec: object = {}) {
  const cluster = new SimulatedCluster()
  const template = {
    metadata: { labels: { app: 'log' } },
    spec: { containers: [{ name: 'log', image: 'one' }], ...podSpec },
  }
  cluster.add('daemonsets', {
    metadata: { name: 'log', namespace: 'default' },
    spec: { selector: { matchLabels: { app: 'log' } }, template, ...spec },
  })
  for (const name of ['n1', 'n2', 'n3']) cluster.add('nodes', { metadata: { name, labels: { host: name } } })
  const pods = () => cluster.list('pods', (object) => podSchema.parse(object))
  const set = () => {
    const [found] = cluster.list('daemonsets', (object) => daemonSetSchema.parse(object))
    assert.ok(found)
    return found
  }
  const step = () => {
    const nodes = cluster.list('nodes', (object) => nodeSchema.parse(object))
    const revisions = cluster.list('controllerrevisions', (object) => controllerRevisionSchema.parse(object))
    const view = { set: set(), pods: pods(), nodes, revisions, toleratedTaints, nowMs: cluster.nowMs }
    cluster.apply(planDaemonSet(view).writes)
  }
  /** What scheduler and node would do: the affinity of a daemon's pod leaves one node. */
  const run = () => {
    for (const { metadata, spec: pod } of pods()) {
      const nodeName = /"metadata\.name","operator":"In","values":\["(\w+)"\]/.exec(JSON.stringify(pod))?.[1]
      assert.ok(nodeName)
      cluster.patch('pods', 'default', metadata.name, { spec: { nodeName }, status: readyStatus(cluster.nowMs) })
    }
  }
  const nodesOf = () => pods().map(({ spec: pod }) => pod.nodeName)
  return { cluster, set, pods, step, run, nodesOf }
}

describe('a DaemonSet', () => {
  test('runs one pod on each node that its selector allows', () => {
    const lab = startLab({}, { nodeSelector: { host: 'n2' } })
    lab.step()
    lab.run()
    lab.step()
    assert.deepEqual(lab.nodesOf(), ['n2'])
    assert.equal(lab.set().status['desiredNumberScheduled'], 1)
    assert.equal(lab.set().status['numberAvailable'], 1)
  })

  test('keeps its template with the fields in order, as the clients that compare it make it', () => {
    const lab = startLab()
    lab.step()
    const [revision] = lab.cluster.list('controllerrevisions', (object) => object as { readonly data?: unknown })
    const text = JSON.stringify(revision?.data)
    assert.match(text, /^\{"spec":\{"template":\{"\$patch":"replace","metadata":.*,"spec":\{"containers":/)
    assert.equal(text, canonicalJson(JSON.parse(text)))
  })

  test('surges: a new pod serves on a node before the old one goes, on as many nodes as it may', () => {
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
    const lab = startLab({ updateStrategy })
    const images = () =>
      lab.pods().map(({ metadata, spec }) => `${spec.nodeName} ${lab.cluster.podImages()[metadata.name]}`)
    lab.step()
    lab.run()
    lab.step()
    lab.cluster.patch('daemonsets', 'default', 'log', {
      spec: { template: { spec: { containers: [{ name: 'log', image: 'two' }] } } },
    })
    lab.step()
    lab.step()
    assert.equal(lab.pods().length, 4, 'one more on one node, and none goes')
    lab.run()
    lab.step()
    assert.deepEqual(images().toSorted(), ['n1 two', 'n2 one', 'n3 one', 'undefined two'].toSorted())
    for (let round = 0; round < 5; round++) {
      lab.run()
      lab.step()
      assert.ok(lab.pods().filter(({ status }) => status.phase === 'Running').length >= 3, 'no node is without a pod')
    }
    assert.deepEqual(images().toSorted(), ['n1 two', 'n2 two', 'n3 two'])
  })

  test('surges at once where the old pod does not serve, and deletes it then', () => {
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
    const lab = startLab({ updateStrategy })
    lab.step()
    lab.run()
    for (const { metadata } of lab.pods())
      lab.cluster.patch('pods', 'default', metadata.name, { status: { conditions: [] } })
    lab.cluster.patch('daemonsets', 'default', 'log', {
      spec: { template: { spec: { containers: [{ name: 'log', image: 'two' }] } } },
    })
    lab.step()
    assert.equal(lab.pods().length, 6)
    lab.step()
    assert.deepEqual(Object.values(lab.cluster.podImages()), ['two', 'two', 'two'])
  })

  test('makes no pod on a tainted node, keeps one there until the taint says NoExecute', () => {
    const lab = startLab()
    const taint = (key: string, effect: string) =>
      lab.cluster.patch('nodes', '', 'n3', { spec: { taints: [{ key, effect }] } })
    taint('dedicated', 'NoSchedule')
    lab.step()
    lab.run()
    assert.deepEqual(lab.nodesOf(), ['n1', 'n2'])
    taint('not-ready', 'NoExecute')
    lab.step()
    lab.run()
    assert.deepEqual(lab.nodesOf(), ['n1', 'n2', 'n3'], 'its own tolerations cover a node in trouble')
    taint('dedicated', 'NoSchedule')
    lab.step()
    assert.deepEqual(lab.nodesOf(), ['n1', 'n2', 'n3'])
    taint('dedicated', 'NoExecute')
    lab.step()
    assert.deepEqual(lab.nodesOf(), ['n1', 'n2'])
  })

  test('replaces pods maxUnavailable at a time', () => {
    const lab = startLab()
    lab.step()
    lab.run()
    lab.cluster.patch('daemonsets', 'default', 'log', {
      spec: { template: { spec: { containers: [{ name: 'log', image: 'two' }] } } },
    })
    const imagesPerStep: number[] = []
    for (let round = 0; round < 8; round++) {
      lab.step()
      imagesPerStep.push(lab.pods().length)
      lab.run()
    }
    lab.step()
    assert.ok(Math.min(...imagesPerStep) >= 2, `never fewer than two of three: ${imagesPerStep}`)
    assert.ok(Object.values(lab.cluster.podImages()).every((image) => image === 'two'))
    assert.equal(lab.set().status['updatedNumberScheduled'], 3)
  })

  test('a daemon in the network of its node may be what brings the pod network; trouble never drives a daemon away', () => {
    const impatient = { key: 'not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }
    const lab = startLab({}, { hostNetwork: true, tolerations: [impatient] })
    lab.cluster.patch('nodes', '', 'n3', { spec: { taints: [{ key: 'no-network', effect: 'NoSchedule' }] } })
    lab.step()
    lab.run()
    assert.deepEqual(lab.nodesOf(), ['n1', 'n2', 'n3'])
    const [pod] = lab.cluster.list('pods', (object) => object as { spec: { tolerations: object[] } })
    assert.deepEqual(pod?.spec.tolerations, [
      { key: 'not-ready', operator: 'Exists', effect: 'NoExecute' },
      { key: 'unschedulable', operator: 'Exists', effect: 'NoSchedule' },
      { key: 'no-network', operator: 'Exists', effect: 'NoSchedule' },
    ])
  })

  test('lets the pod of a node that is gone go', () => {
    const lab = startLab()
    lab.step()
    lab.run()
    lab.cluster.remove('nodes', '', 'n1')
    lab.step()
    assert.deepEqual(lab.nodesOf(), ['n2', 'n3'])
  })
})
