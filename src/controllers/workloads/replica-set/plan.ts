import type { JsonObject } from '../../../model/api-object.ts'
import { describeError } from '../../../model/errors.ts'
import { claimChildren } from '../../objects/claim.ts'
import { findCondition, withCondition, withoutCondition } from '../../objects/conditions.ts'
import type { Condition, ControlledObject } from '../../objects/parts.ts'
import { isActive, isAvailable, isReady, nextAvailableInMs, type Pod } from '../../objects/pod.ts'
import { nameOf, podsResource, type ResourceName, type Write } from '../../objects/writes.ts'
import { inDeletionOrder } from '../deletion-order.ts'
import type { Plan } from '../plan.ts'
import type { ReplicaSet } from '../shapes.ts'
import { statusWrites } from '../status-write.ts'
import { podFromTemplate } from '../template.ts'

/** The kinds that keep a number of pods: a ReplicationController differs in its name and its form only. */
interface ReplicaKind {
  readonly apiVersion: string
  readonly kind: string
  readonly resource: ResourceName
}

export interface ReplicaSetView {
  readonly type: ReplicaKind
  readonly set: ReplicaSet
  /** All pods in the ReplicaSet's namespace. */
  readonly pods: readonly Pod[]
  readonly deletionCostAnnotation: string
  readonly nowMs: number
}

/** The most pods that one pass creates or deletes, so that one workload does not delay the others. */
const burst = 500

/**
 * Plans the wanted number of active pods: adopts matching ones, creates missing ones, and deletes surplus ones in
 * deletion order.
 */
export function planReplicaSet({ type, set, pods, deletionCostAnnotation, nowMs }: ReplicaSetView): Plan {
  const owner = ownerOf(type, set)
  const claim = claimChildren(owner, set.spec.selector, podsResource, pods)
  const active = claim.mine.filter(isActive)
  const isLeaving = set.metadata.deletionTimestamp !== undefined
  const scaling = isLeaving ? [] : scalePods(owner, active, deletionCostAnnotation)
  const counts = statusOf(set, active, nowMs)
  const conditions = scaling.length > 0 ? set.status.conditions : withoutCondition(set.status.conditions, failureType)
  const writeStatus = (conditions: readonly Condition[]) =>
    statusWrites(type.resource, owner, { ...counts, conditions: conditions as unknown as readonly JsonObject[] })
  return {
    writes: [...claim.writes, ...scaling, ...writeStatus(conditions)],
    afterFailure: ({ write, error }) =>
      write.verb === 'patch' ? [] : writeStatus(withFailure(set, write.verb, error, nowMs)),
    againInMs: nextAvailableInMs(active, set.spec.minReadySeconds, nowMs),
  }
}

const failureType = 'ReplicaFailure'

/** Returns the conditions with the failure. One that was there stays: its message may have the name of another pod. */
function withFailure({ status }: ReplicaSet, verb: 'create' | 'delete', error: unknown, nowMs: number) {
  const reason = verb === 'create' ? 'FailedCreate' : 'FailedDelete'
  const known = findCondition(status.conditions, failureType)
  if (known?.status === 'True' && known.reason === reason) return status.conditions
  const change = { type: failureType, status: 'True', reason, message: describeError(error) } as const
  return withCondition(status.conditions, change, nowMs)
}

type OwningSet = ReplicaSet & Pick<ReplicaKind, 'apiVersion' | 'kind'>

function ownerOf({ apiVersion, kind }: ReplicaKind, set: ReplicaSet): OwningSet {
  return { ...set, apiVersion, kind }
}

function scalePods(set: OwningSet, active: readonly Pod[], deletionCostAnnotation: string): readonly Write[] {
  const missing = set.spec.replicas - active.length
  if (missing >= 0) return Array.from({ length: Math.min(missing, burst) }, () => createPod(set))
  return inDeletionOrder(active, deletionCostAnnotation).slice(0, Math.min(-missing, burst)).map(deletePod)
}

function createPod(set: OwningSet): Write {
  const object = podFromTemplate(set, set.spec.template, { generateName: `${set.metadata.name}-` })
  return { verb: 'create', resource: podsResource, object }
}

export function deletePod(pod: ControlledObject): Write {
  return { verb: 'delete', target: nameOf(podsResource, pod), uid: pod.metadata.uid }
}

function statusOf(set: ReplicaSet, active: readonly Pod[], nowMs: number) {
  const { template, minReadySeconds } = set.spec
  const templateLabels = Object.entries(template.metadata.labels)
  const isFullyLabelled = ({ metadata }: Pod) => templateLabels.every(([key, value]) => metadata.labels[key] === value)
  const ready = active.filter(isReady)
  return {
    replicas: active.length,
    fullyLabeledReplicas: active.filter(isFullyLabelled).length,
    readyReplicas: ready.length,
    availableReplicas: ready.filter((pod) => isAvailable(pod, minReadySeconds, nowMs)).length,
    observedGeneration: set.metadata.generation,
  }
}
