import type { Component } from '../../loop/component.ts'
import type { BaseContext } from '../base-context.ts'
import { applyWrites, type WriteTarget } from '../objects/apply-writes.ts'
import { controllerOf } from '../objects/claim.ts'
import { nodeType, podType } from '../objects/types.ts'
import { noted, writeTarget } from '../objects/write-target.ts'
import { Controller, type Watch, watchKeys } from '../runtime/controller.ts'
import { type CachedObject, keyOf, type ResourceType } from '../runtime/resource-type.ts'
import { planDaemonSet } from './daemon-set/plan.ts'
import { planDeployment } from './deployment/plan.ts'
import { eventOfWrite } from './events.ts'
import type { Plan } from './plan.ts'
import { indexByNamespace, ownersOf } from './relations.ts'
import { planReplicaSet } from './replica-set/plan.ts'
import { planStatefulSet } from './stateful-set/plan.ts'
import { controllerRevisionType, daemonSetType, deploymentType, replicaSetType, statefulSetType } from './types.ts'

const written = [podType, replicaSetType, deploymentType, statefulSetType, daemonSetType, controllerRevisionType].map(
  (type) => noted<CachedObject>(type),
)

interface WorkloadParts<T extends CachedObject> {
  readonly name: string
  readonly type: ResourceType<T>
  /** Beside the workload itself. */
  readonly watches: readonly Watch[]
  readonly plan: (workload: T, namespace: string) => Plan
}

function workload<T extends CachedObject>(kit: BaseContext, parts: WorkloadParts<T>) {
  const { client, caches, events, metrics, log } = kit
  const cache = caches.of(parts.type)
  const target = writeTarget(client, caches, written)
  return new Controller({
    name: parts.name,
    watches: [watchKeys(cache, (object) => [keyOf(object)]), ...parts.watches],
    reconcile: async (key, { signal }) => {
      const object = cache.get(key)
      if (object === undefined) return undefined
      const { writes, againInMs } = parts.plan(object, object.metadata.namespace ?? '')
      const { group, version } = parts.type.resource
      const subject = { apiVersion: `${group}/${version}`, kind: parts.type.kind, metadata: object.metadata }
      const tell: WriteTarget['tell'] = (write, outcome) => {
        const told = eventOfWrite(subject, write, outcome)
        if (told !== undefined) events.record(subject, told.type, told.reason, told.message)
      }
      await applyWrites({ ...target, tell }, writes, signal)
      return againInMs === undefined ? undefined : { againInMs }
    },
    metrics,
    log: log.child(parts.name),
  })
}

export function createReplicaSetController(kit: BaseContext): Component {
  const pods = kit.caches.of(podType)
  const podsByNamespace = indexByNamespace(pods)
  const sets = indexByNamespace(kit.caches.of(replicaSetType))
  const deletionCostAnnotation = kit.dialect.annotations.podDeletionCost
  return workload(kit, {
    name: 'replicaset',
    type: replicaSetType,
    watches: [watchKeys(pods, ownersOf(replicaSetType, sets))],
    plan: (set, namespace) =>
      planReplicaSet({ set, pods: podsByNamespace.get(namespace), deletionCostAnnotation, nowMs: Date.now() }),
  })
}

export function createDeploymentController(kit: BaseContext): Component {
  const sets = kit.caches.of(replicaSetType)
  const setsByNamespace = indexByNamespace(sets)
  const pods = kit.caches.of(podType)
  const podsByNamespace = indexByNamespace(pods)
  const owners = ownersOf(deploymentType, indexByNamespace(kit.caches.of(deploymentType)))
  const deploymentOfPod: typeof owners = (pod) => {
    const controller = controllerOf(pod)
    const set = controller && sets.get(`${pod.metadata.namespace}/${controller.name}`)
    return set === undefined || controllerOf(set) === undefined ? [] : owners(set)
  }
  return workload(kit, {
    name: 'deployment',
    type: deploymentType,
    watches: [watchKeys(sets, owners), watchKeys(pods, deploymentOfPod)],
    plan: (deployment, namespace) =>
      planDeployment({
        deployment,
        sets: setsByNamespace.get(namespace),
        pods: podsByNamespace.get(namespace),
        nowMs: Date.now(),
      }),
  })
}

export function createStatefulSetController(kit: BaseContext): Component {
  const pods = kit.caches.of(podType)
  const podsByNamespace = indexByNamespace(pods)
  const revisions = indexByNamespace(kit.caches.of(controllerRevisionType))
  const sets = indexByNamespace(kit.caches.of(statefulSetType))
  const { statefulSetPodName: podName, podIndex, revisionHash: revision } = kit.dialect.labels
  const labels = { podName, podIndex, revision }
  return workload(kit, {
    name: 'statefulset',
    type: statefulSetType,
    watches: [watchKeys(pods, ownersOf(statefulSetType, sets))],
    plan: (set, namespace) =>
      planStatefulSet({
        set,
        pods: podsByNamespace.get(namespace),
        revisions: revisions.get(namespace),
        labels,
        nowMs: Date.now(),
      }),
  })
}

export function createDaemonSetController(kit: BaseContext): Component {
  const pods = kit.caches.of(podType)
  const podsByNamespace = indexByNamespace(pods)
  const nodes = kit.caches.of(nodeType)
  const sets = kit.caches.of(daemonSetType)
  const setsByNamespace = indexByNamespace(sets)
  const revisions = indexByNamespace(kit.caches.of(controllerRevisionType))
  const { notReady, unreachable, unschedulable, memoryPressure, diskPressure, pidPressure, networkUnavailable } =
    kit.dialect.taints
  const toleratedTaints = {
    noExecute: [notReady, unreachable],
    noSchedule: [unschedulable, memoryPressure, diskPressure, pidPressure],
    networkUnavailable,
  }
  return workload(kit, {
    name: 'daemonset',
    type: daemonSetType,
    watches: [
      watchKeys(pods, ownersOf(daemonSetType, setsByNamespace)),
      watchKeys(nodes, () => [...sets.list()].map((set) => keyOf(set))),
    ],
    plan: (set, namespace) =>
      planDaemonSet({
        set,
        pods: podsByNamespace.get(namespace),
        nodes: [...nodes.list()],
        revisions: revisions.get(namespace),
        toleratedTaints,
        nowMs: Date.now(),
      }),
  })
}
