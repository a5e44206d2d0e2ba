import { isDeepStrictEqual } from 'node:util'
import type { Component } from '../../loop/component.ts'
import type { BaseContext } from '../base-context.ts'
import { applyWrites, type WriteTarget } from '../objects/apply-writes.ts'
import { controllerOf } from '../objects/claim.ts'
import type { Node } from '../objects/node.ts'
import { nodeType, podType, volumeClaimType } from '../objects/types.ts'
import type { VolumeClaim } from '../objects/volume.ts'
import { noted, writeTarget } from '../objects/write-target.ts'
import { Controller, type Watch, watchKeys } from '../runtime/controller.ts'
import { type CachedObject, keyOf, type ResourceType } from '../runtime/resource-type.ts'
import { restAfterPass } from '../runtime/work-queue.ts'
import { planDaemonSet } from './daemon-set/plan.ts'
import { planDeployment } from './deployment/plan.ts'
import { eventOfWrite } from './events.ts'
import type { FailedWrite, Plan } from './plan.ts'
import { Children, ownersOf } from './relations.ts'
import { planReplicaSet } from './replica-set/plan.ts'
import type { Deployment, ReplicaSet, StatefulSet } from './shapes.ts'
import { planStatefulSet } from './stateful-set/plan.ts'
import {
  controllerRevisionType,
  daemonSetType,
  deploymentType,
  replicaSetType,
  replicationControllerType,
  statefulSetType,
} from './types.ts'

const written = [
  podType,
  replicaSetType,
  replicationControllerType,
  deploymentType,
  statefulSetType,
  daemonSetType,
  controllerRevisionType,
  volumeClaimType,
].map((type) => noted<CachedObject>(type))

interface WorkloadParts<T extends CachedObject> {
  readonly name: string
  readonly type: ResourceType<T>
  /** The resources to watch beside the workload itself. */
  readonly watches: readonly Watch[]
  readonly plan: (workload: T) => Plan
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
      const startedMs = performance.now()
      const { writes, againInMs, afterFailure } = parts.plan(object)
      const busyMs = performance.now() - startedMs
      const { apiVersion, kind } = parts.type
      const subject = { apiVersion, kind, metadata: object.metadata }
      let failed: FailedWrite | undefined
      const onOutcome: WriteTarget['onOutcome'] = (write, outcome) => {
        const event = eventOfWrite(subject, write, outcome)
        if (event !== undefined) events.record(subject, event.type, event.reason, event.message)
        if (outcome.kind === 'failed') failed ??= { write, error: outcome.error }
      }
      try {
        await applyWrites({ ...target, onOutcome }, writes, signal)
      } catch (error) {
        if (failed !== undefined) await applyWrites(target, afterFailure?.(failed) ?? [], signal)
        throw error
      }
      return { againInMs, busyMs }
    },
    rest: restAfterPass,
    metrics,
    log: log.child(parts.name),
  })
}

export function createReplicaSetController(kit: BaseContext): Component {
  return replicaController(kit, 'replicaset', replicaSetType)
}

export function createReplicationController(kit: BaseContext): Component {
  return replicaController(kit, 'replicationcontroller', replicationControllerType)
}

function replicaController(kit: BaseContext, name: string, type: ResourceType<ReplicaSet>): Component {
  const pods = kit.caches.of(podType)
  const children = new Children(pods)
  const sets = kit.caches.of(type)
  const deletionCostAnnotation = kit.dialect.annotations.podDeletionCost
  return workload(kit, {
    name,
    type,
    watches: [watchKeys(pods, ownersOf(type, sets))],
    plan: (set) =>
      planReplicaSet({ type, set, pods: children.candidatesFor(set), deletionCostAnnotation, nowMs: Date.now() }),
  })
}

export function createDeploymentController(kit: BaseContext): Component {
  const sets = kit.caches.of(replicaSetType)
  const setsOf = new Children(sets)
  const pods = kit.caches.of(podType)
  const podsOf = new Children(pods)
  const deployments = kit.caches.of(deploymentType)
  const owners = ownersOf(deploymentType, deployments)
  /**
   * Returns the Deployments to reconcile after a change of a pod: only those with the strategy Recreate wait for pods
   * to end.
   */
  const waitingFor: typeof owners = (pod) => {
    const controller = controllerOf(pod)
    const set = controller && sets.get(`${pod.metadata.namespace}/${controller.name}`)
    if (set === undefined || controllerOf(set) === undefined) return []
    return [...owners(set)].filter((key) => recreates(deployments.get(key)))
  }
  return workload(kit, {
    name: 'deployment',
    type: deploymentType,
    watches: [watchKeys(sets, owners), watchKeys(pods, waitingFor)],
    plan: (deployment) => {
      const candidates = setsOf.candidatesFor(deployment)
      const running = recreates(deployment) ? candidates.flatMap((set) => podsOf.ownedBy(set)) : []
      return planDeployment({ deployment, sets: candidates, pods: running, nowMs: Date.now() })
    },
  })
}

function recreates(deployment: Deployment | undefined): boolean {
  return deployment?.spec.strategy.type === 'Recreate'
}

export function createStatefulSetController(kit: BaseContext): Component {
  const pods = kit.caches.of(podType)
  const children = new Children(pods)
  const revisions = new Children(kit.caches.of(controllerRevisionType))
  const { statefulSetPodName: podName, podIndex, revisionHash: revision } = kit.dialect.labels
  const labels = { podName, podIndex, revision }
  const sets = kit.caches.of(statefulSetType)
  const claims = kit.caches.of(volumeClaimType)
  const setsByClaim = sets.addIndex(claimNamesOf)
  /** Returns the sets whose claims have names that begin as that of the claim. */
  const usersOf = ({ metadata }: VolumeClaim) =>
    beginnings(metadata.name).flatMap((name) => setsByClaim.get(`${metadata.namespace}/${name}`).map(keyOf))
  return workload(kit, {
    name: 'statefulset',
    type: statefulSetType,
    watches: [watchKeys(pods, ownersOf(statefulSetType, sets)), watchKeys(claims, usersOf, { isSame: isSameForSets })],
    plan: (set) =>
      planStatefulSet({
        set,
        pods: children.candidatesFor(set),
        revisions: revisions.ownedBy(set),
        findClaim: (name) => claims.get(`${set.metadata.namespace}/${name}`),
        labels,
        nowMs: Date.now(),
      }),
  })
}

/** Returns what the names of the claims of a set begin with: `namespace/data-web`. */
function claimNamesOf({ metadata, spec }: StatefulSet): Iterable<string> {
  return spec.volumeClaimTemplates.map((template) => `${metadata.namespace}/${template.metadata.name}-${metadata.name}`)
}

/** Returns a name without its ordinal; nothing where it has none. */
function beginnings(name: string): readonly string[] {
  const end = /-\d+$/.exec(name)
  return end === null ? [] : [name.slice(0, end.index)]
}

/** A set waits for claims to appear and to go, and looks at their owners. */
function isSameForSets({ metadata: old }: VolumeClaim, { metadata: next }: VolumeClaim): boolean {
  return (
    old.uid === next.uid &&
    old.deletionTimestamp === next.deletionTimestamp &&
    isDeepStrictEqual(old.ownerReferences, next.ownerReferences)
  )
}

export function createDaemonSetController(kit: BaseContext): Component {
  const pods = kit.caches.of(podType)
  const children = new Children(pods)
  const nodes = kit.caches.of(nodeType)
  const sets = kit.caches.of(daemonSetType)
  const revisions = new Children(kit.caches.of(controllerRevisionType))
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
      watchKeys(pods, ownersOf(daemonSetType, sets)),
      watchKeys(nodes, () => [...sets.list()].map((set) => keyOf(set)), { isSame: isSameForDaemons }),
    ],
    plan: (set) =>
      planDaemonSet({
        set,
        pods: children.candidatesFor(set),
        nodes: [...nodes.list()],
        revisions: revisions.ownedBy(set),
        toleratedTaints,
        nowMs: Date.now(),
      }),
  })
}

/** Ignores heartbeats in the status of a node: none of them changes which daemon pods run. */
function isSameForDaemons(old: Node, next: Node): boolean {
  return (
    old.metadata.uid === next.metadata.uid &&
    isDeepStrictEqual(old.metadata.labels, next.metadata.labels) &&
    isDeepStrictEqual(old.spec.taints, next.spec.taints)
  )
}
