import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { isReady, type Pod, podSchema } from '../../../../src/controllers/objects/pod.ts'
import { planDeployment } from '../../../../src/controllers/workloads/deployment/plan.ts'
import { rolloutBounds, wantedReplicas } from '../../../../src/controllers/workloads/deployment/replica-counts.ts'
import { planReplicaSet } from '../../../../src/controllers/workloads/replica-set/plan.ts'
import { deploymentSchema, replicaSetSchema } from '../../../../src/controllers/workloads/shapes.ts'
import { replicaSetType } from '../../../../src/controllers/workloads/types.ts'
import { readyStatus, SimulatedCluster } from '../../../helpers/simulated-cluster.ts'

const share = fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom('0%', '25%', '30%', '50%', '100%'))
const rollout = fc.record({
  replicas: fc.integer({ min: 1, max: 7 }),
  maxSurge: share,
  maxUnavailable: share,
  /** Which controller or pod takes the next step, and how often the Deployment is changed on the way. */
  turns: fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 5, maxLength: 60 }),
})

/** The Deployment is planned again after an old ReplicaSet was scaled down and before the ReplicaSet has written its status. */
const beforeStatus = { replicas: 4, maxSurge: 1, maxUnavailable: 1, turns: [0, 0, 541, 435, 0, 365, 0, 217] }

interface Lab {
  readonly cluster: SimulatedCluster
  readonly step: (turn: number) => void
  readonly deployment: () => ReturnType<typeof deploymentSchema.parse>
  readonly pods: () => Pod[]
  /** The wanted pods of all ReplicaSets. A deleted pod may exist a moment longer, as in Kubernetes. */
  readonly wanted: () => number
}

function startLab(spec: object, image = 'one'): Lab {
  const cluster = new SimulatedCluster()
  const template = { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image }] } }
  cluster.add('deployments', {
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: { matchLabels: { app: 'web' } }, template, ...spec },
  })
  const deployment = () => {
    const [found] = cluster.list('deployments', (object) => deploymentSchema.parse(object))
    assert.ok(found)
    return found
  }
  const sets = () => cluster.list('replicasets', (object) => replicaSetSchema.parse(object))
  const pods = () => cluster.list('pods', (object) => podSchema.parse(object))
  const stepDeployment = () =>
    cluster.apply(planDeployment({ deployment: deployment(), sets: sets(), pods: pods(), nowMs: cluster.nowMs }).writes)
  const stepSet = (index: number) => {
    const set = sets()[index % Math.max(1, sets().length)]
    if (set === undefined) return
    const view = { type: replicaSetType, set, pods: pods(), deletionCostAnnotation: 'cost', nowMs: cluster.nowMs }
    cluster.apply(planReplicaSet(view).writes)
  }
  const makeReady = (index: number) => {
    const waiting = pods().filter((pod) => !isReady(pod))
    const pod = waiting[index % Math.max(1, waiting.length)]
    if (pod === undefined) return
    cluster.patch('pods', 'default', pod.metadata.name, { status: readyStatus(cluster.nowMs) })
  }
  const step = (turn: number) => {
    cluster.nowMs += 1_000
    if (turn % 4 === 0) stepDeployment()
    else if (turn % 4 === 3) makeReady(turn >> 2)
    else stepSet(turn >> 2)
  }
  return { cluster, step, deployment, pods, wanted: () => wantedReplicas(sets()) }
}

/** Lets each controller and pod take its turns until three rounds in a row write nothing. */
function settle({ step, cluster }: Lab): void {
  for (let round = 0, quiet = 0; round < 40 && quiet < 3; round++) {
    const { version } = cluster
    for (let turn = 0; turn < 16; turn++) step(turn)
    quiet = cluster.version === version ? quiet + 1 : 0
  }
}

function rollTo(lab: Lab, image: string): void {
  const template = { spec: { containers: [{ name: 'web', image }] } }
  lab.cluster.patch('deployments', 'default', 'web', { spec: { template } })
}

function assertSettled(lab: Lab, image: string): void {
  const { spec, status } = lab.deployment()
  const counts = [status.replicas, status.updatedReplicas, status.readyReplicas, status.availableReplicas]
  assert.deepEqual(counts, [spec.replicas, spec.replicas, spec.replicas, spec.replicas])
  const progressing = status.conditions.find(({ type }) => type === 'Progressing')
  assert.equal(progressing?.reason, 'NewReplicaSetAvailable')
  for (const each of Object.values(lab.cluster.podImages())) assert.equal(each, image)
}

describe('a rolling update', () => {
  test('keeps within maxSurge and maxUnavailable in any order of steps, and ends with the new template alone', () => {
    fc.assert(
      fc.property(rollout, ({ replicas, maxSurge, maxUnavailable, turns }) => {
        const lab = startLab({
          replicas,
          strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } },
        })
        settle(lab)
        assertSettled(lab, 'one')
        rollTo(lab, 'two')
        const { surge, unavailable } = rolloutBounds(lab.deployment())
        for (const turn of turns) {
          lab.step(turn)
          assert.ok(lab.wanted() <= replicas + surge, 'more pods than surge allows')
          assert.ok(lab.pods().filter(isReady).length >= replicas - unavailable, 'fewer ready pods than allowed')
        }
        settle(lab)
        assertSettled(lab, 'two')
      }),
      { numRuns: 25, examples: [[beforeStatus]] },
    )
  })

  test('that is changed once more on its way ends with the last template', () => {
    fc.assert(
      fc.property(rollout, ({ replicas, turns }) => {
        const lab = startLab({ replicas })
        settle(lab)
        rollTo(lab, 'two')
        for (const turn of turns) lab.step(turn)
        lab.cluster.patch('deployments', 'default', 'web', { spec: { replicas: replicas + 2 } })
        rollTo(lab, 'three')
        settle(lab)
        assertSettled(lab, 'three')
      }),
      { numRuns: 15 },
    )
  })
})

describe('a Deployment that recreates', () => {
  test('never runs pods of two templates at once', () => {
    fc.assert(
      fc.property(rollout, ({ replicas, turns }) => {
        const lab = startLab({ replicas, strategy: { type: 'Recreate' } })
        settle(lab)
        rollTo(lab, 'two')
        for (const turn of [...turns, ...turns, ...turns]) {
          lab.step(turn)
          const templates = new Set(lab.pods().map(({ metadata }) => metadata.labels['pod-template-hash']))
          assert.ok(templates.size <= 1, 'pods of two templates')
        }
        settle(lab)
        assertSettled(lab, 'two')
      }),
      { numRuns: 15 },
    )
  })
})
