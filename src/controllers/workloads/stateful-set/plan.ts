import { z } from 'zod'
import type { Json, JsonObject } from '../../../model/api-object.ts'
import { claimChildren, controllerOf } from '../../objects/claim.ts'
import { type PodTemplate, templateSchema } from '../../objects/parts.ts'
import { isAvailable, isFinished, isReady, nextAvailableInMs, type Pod } from '../../objects/pod.ts'
import { nameOf, podsResource, type Write } from '../../objects/writes.ts'
import { appsVersion, statefulSetsResource } from '../kinds.ts'
import type { Plan } from '../plan.ts'
import { deletePod } from '../replica-set/plan.ts'
import { planRevisions } from '../revisions.ts'
import type { ControllerRevision, StatefulSet } from '../shapes.ts'
import { statusWrites } from '../status-write.ts'
import { podFromTemplate, revisionHashLabel } from '../template.ts'
import { type FindClaim, missingClaims, ownerWrites, withClaimedVolumes } from './claims.ts'

/** The labels that identify a pod of a StatefulSet. */
interface StatefulSetLabels {
  readonly podName: string
  readonly podIndex: string
  /** The label of a ControllerRevision with the hash in its name. */
  readonly revision: string
}

export interface StatefulSetView {
  readonly set: StatefulSet
  readonly pods: readonly Pod[]
  readonly revisions: readonly ControllerRevision[]
  readonly findClaim: FindClaim
  readonly labels: StatefulSetLabels
  readonly nowMs: number
}

/**
 * Plans one step towards `replicas` pods with stable names. They are created in order, deleted in reverse order, and
 * updated from the highest ordinal down to the partition.
 */
export function planStatefulSet(view: StatefulSetView): Plan {
  const { set, pods, labels, nowMs } = view
  const owner = ownerOf(set)
  const isOurs = (pod: Pod) => ordinalOf(set, pod) !== undefined
  const claim = claimChildren(owner, set.spec.selector, podsResource, pods.filter(isOurs))
  const history = view.revisions.filter((revision) => controllerOf(revision)?.uid === set.metadata.uid)
  const inUse = new Set([set.status.currentRevision, ...claim.mine.map((pod) => revisionOf(set, pod))])
  const limit = { revisionHistoryLimit: set.spec.revisionHistoryLimit, inUse, hashLabel: labels.revision }
  const update = planRevisions(owner, set.spec.template, history, limit)
  const rollout = rolloutOf({ ...view, revisions: history }, claim.mine, update.name)
  const isLeaving = set.metadata.deletionTimestamp !== undefined
  const steps = isLeaving ? [] : [...identityWrites(rollout), ...keptClaims(rollout), ...stepWrites(rollout)]
  const status = statusWrites(statefulSetsResource, owner, statusOf(rollout) as unknown as JsonObject)
  return {
    writes: [...claim.writes, ...update.writes, ...steps, ...status],
    againInMs: nextAvailableInMs(claim.mine, set.spec.minReadySeconds, nowMs),
  }
}

/** How many pods one pass creates at most. The next pass follows when these are in the cache. */
const burst = 500

interface StatefulRollout {
  readonly set: StatefulSet
  readonly findClaim: FindClaim
  readonly labels: StatefulSetLabels
  /** The present pods by ordinal. */
  readonly byOrdinal: ReadonlyMap<number, Pod>
  /** The wanted ordinals: from `first` to the one before `end`. There may be billions. */
  readonly first: number
  readonly end: number
  /** The pods with other ordinals, the highest first. */
  readonly surplus: readonly Pod[]
  /** The highest ordinal of a pod that does not have the update revision; -1 without one. */
  readonly highestOld: number
  readonly currentRevision: string
  /** The revision in the history; undefined if it was removed. */
  readonly currentTemplate: PodTemplate | undefined
  readonly updateRevision: string
  readonly nowMs: number
}

function ownerOf(set: StatefulSet): StatefulSet & { apiVersion: string; kind: string } {
  return { ...set, apiVersion: appsVersion, kind: 'StatefulSet' }
}

function rolloutOf(
  { set, labels, revisions, findClaim, nowMs }: StatefulSetView,
  mine: readonly Pod[],
  updateRevision: string,
): StatefulRollout {
  const first = set.spec.ordinals.start
  const end = first + set.spec.replicas
  const byOrdinal = new Map(mine.map((pod) => [ordinalOf(set, pod) ?? -1, pod]))
  const isWanted = (ordinal: number) => ordinal >= first && ordinal < end
  const surplus = mine
    .filter((pod) => !isWanted(ordinalOf(set, pod) ?? -1))
    .toSorted((one, other) => (ordinalOf(set, other) ?? 0) - (ordinalOf(set, one) ?? 0))
  const currentRevision = set.status.currentRevision || updateRevision
  const currentTemplate = templateOf(revisions.find(({ metadata }) => metadata.name === currentRevision))
  const old = [...byOrdinal].filter(([, pod]) => revisionOf(set, pod) !== updateRevision)
  const highestOld = old.reduce((highest, [ordinal]) => Math.max(highest, ordinal), -1)
  return {
    set,
    findClaim,
    labels,
    byOrdinal,
    first,
    end,
    surplus,
    highestOld,
    currentRevision,
    currentTemplate,
    updateRevision,
    nowMs,
  }
}

/** Returns the ordinal in the name of a pod: 2 for `web-2` of the set `web`. */
function ordinalOf({ metadata }: StatefulSet, pod: Pod): number | undefined {
  const text = pod.metadata.name.startsWith(`${metadata.name}-`)
    ? pod.metadata.name.slice(metadata.name.length + 1)
    : ''
  return /^(0|[1-9]\d{0,9})$/.test(text) ? Number(text) : undefined
}

function revisionOf({ metadata }: StatefulSet, pod: Pod): string {
  const hash = pod.metadata.labels[revisionHashLabel] ?? ''
  return hash.startsWith(`${metadata.name}-`) ? hash : `${metadata.name}-${hash}`
}

function stepWrites(rollout: StatefulRollout): readonly Write[] {
  const { set } = rollout
  const isOrdered = set.spec.podManagementPolicy === 'OrderedReady'
  const presence = presenceWrites(rollout)
  if (presence.writes.length > 0) return isOrdered ? presence.writes : [...presence.writes, ...surplusWrites(rollout)]
  if (isOrdered && presence.isWaiting) return []
  const surplus = surplusWrites(rollout)
  if (surplus.length > 0) return surplus
  if (isOrdered && rollout.surplus.length > 0) return []
  return set.spec.updateStrategy.type === 'RollingUpdate' ? updateWrites(rollout) : []
}

/** Gives present pods the labels that identify them: adopted ones may lack them, and Services select by them. */
function identityWrites({ byOrdinal, labels }: StatefulRollout): readonly Write[] {
  return [...byOrdinal].flatMap(([ordinal, pod]): readonly Write[] => {
    const { uid, name, labels: known, deletionTimestamp } = pod.metadata
    if (known[labels.podName] === name || deletionTimestamp !== undefined) return []
    const identity = { [labels.podName]: name, [labels.podIndex]: String(ordinal) }
    return [{ verb: 'patch', target: nameOf(podsResource, pod), patch: { metadata: { uid, labels: identity } } }]
  })
}

/** Gives the claims of present pods the owners of the retention policy, and makes those that do not exist. */
function keptClaims({ set, first, end, byOrdinal, surplus, findClaim }: StatefulRollout): readonly Write[] {
  if (set.spec.volumeClaimTemplates.length === 0) return []
  const wanted = [...byOrdinal].flatMap(([ordinal, pod]) => (ordinal >= first && ordinal < end ? [pod] : []))
  return [
    ...wanted.flatMap((pod) => [
      ...(pod.metadata.deletionTimestamp === undefined ? missingClaims(set, pod.metadata.name, findClaim).writes : []),
      ...ownerWrites(set, pod, false, findClaim),
    ]),
    ...surplus.flatMap((pod) => ownerWrites(set, pod, true, findClaim)),
  ]
}

/**
 * Creates missing pods and deletes finished ones, the lowest ordinal first. With OrderedReady, each waits for the one
 * before.
 */
function presenceWrites(rollout: StatefulRollout): Presence {
  const { set, first, end } = rollout
  const isOrdered = set.spec.podManagementPolicy === 'OrderedReady'
  const limit = isOrdered ? 1 : burst
  const writes: Write[] = []
  let isWaiting = false
  for (let ordinal = first; ordinal < end && writes.length < limit; ordinal++) {
    const step = presenceOf(rollout, ordinal)
    writes.push(...step.writes)
    isWaiting ||= step.isWaiting
    if (isOrdered && isWaiting) break
  }
  return { writes, isWaiting }
}

interface Presence {
  readonly writes: readonly Write[]
  readonly isWaiting: boolean
}

function presenceOf(rollout: StatefulRollout, ordinal: number): Presence {
  const { set, byOrdinal, nowMs } = rollout
  const pod = byOrdinal.get(ordinal)
  if (pod === undefined) {
    const writes = creationWrites(rollout, ordinal)
    return { writes, isWaiting: writes.length === 0 }
  }
  if (isFinished(pod) && pod.metadata.deletionTimestamp === undefined)
    return { writes: [deletePod(pod)], isWaiting: false }
  return { writes: [], isWaiting: !isHealthy(set, pod, nowMs) }
}

/**
 * Deletes surplus pods. With OrderedReady, each waits until the one with the next higher ordinal is gone. While several
 * are not available, none of them is deleted: they may be members that still need each other.
 */
function surplusWrites({ set, surplus, nowMs }: StatefulRollout): readonly Write[] {
  const isLeaving = ({ metadata }: Pod) => metadata.deletionTimestamp !== undefined
  const leaving = surplus.filter((pod) => !isLeaving(pod))
  if (set.spec.podManagementPolicy !== 'OrderedReady') return leaving.map(deletePod)
  if (leaving.length < surplus.length) return []
  const [next] = leaving
  const isHeld = next && !isHealthy(set, next, nowMs) && leaving.slice(1).some((pod) => !isHealthy(set, pod, nowMs))
  return next === undefined || isHeld ? [] : [deletePod(next)]
}

/**
 * Deletes the highest pod with an old revision when all pods above it are healthy. Pods below the partition keep their
 * revision.
 */
function updateWrites(rollout: StatefulRollout): readonly Write[] {
  const { set, first, end, byOrdinal, updateRevision, nowMs } = rollout
  const from = first + set.spec.updateStrategy.rollingUpdate.partition
  for (let ordinal = end - 1; ordinal >= from; ordinal--) {
    const pod = byOrdinal.get(ordinal)
    if (pod === undefined) return []
    const isLeaving = pod.metadata.deletionTimestamp !== undefined
    if (revisionOf(set, pod) !== updateRevision && !isLeaving) return [deletePod(pod)]
    if (!isHealthy(set, pod, nowMs)) return []
  }
  return []
}

function isHealthy(set: StatefulSet, pod: Pod, nowMs: number): boolean {
  return pod.metadata.deletionTimestamp === undefined && isAvailable(pod, set.spec.minReadySeconds, nowMs)
}

/**
 * Returns the next writes for a missing pod: its claims first, and the pod when they exist. It waits for a claim that
 * is about to go.
 */
function creationWrites(rollout: StatefulRollout, ordinal: number): readonly Write[] {
  const { set, findClaim } = rollout
  const claims = missingClaims(set, `${set.metadata.name}-${ordinal}`, findClaim)
  if (claims.isLeaving) return []
  return claims.writes.length > 0 ? claims.writes : [createPod(rollout, ordinal)]
}

function createPod(rollout: StatefulRollout, ordinal: number): Write {
  const { set, labels } = rollout
  const name = `${set.metadata.name}-${ordinal}`
  const { template, revision } = versionFor(rollout, ordinal)
  const object = podFromTemplate(ownerOf(set), template, {
    name,
    generateName: `${set.metadata.name}-`,
    labels: { [labels.podName]: name, [labels.podIndex]: String(ordinal), [revisionHashLabel]: revision },
    spec: {
      hostname: name,
      subdomain: set.spec.serviceName,
      ...withClaimedVolumes(set, template.spec['volumes'] as Json | undefined, name),
    },
  })
  return { verb: 'create', resource: podsResource, object }
}

/**
 * Returns the template of a new pod. Below the partition, and where the rollout has not arrived yet, a lost pod gets
 * its old revision again.
 */
function versionFor(rollout: StatefulRollout, ordinal: number): { template: PodTemplate; revision: string } {
  const { set, highestOld, currentTemplate, currentRevision, updateRevision } = rollout
  const isBelow = ordinal < set.spec.ordinals.start + set.spec.updateStrategy.rollingUpdate.partition
  const isKept = set.spec.updateStrategy.type === 'RollingUpdate' && (isBelow || highestOld > ordinal)
  if (isKept && currentTemplate !== undefined) return { template: currentTemplate, revision: currentRevision }
  return { template: set.spec.template, revision: updateRevision }
}

function templateOf(revision: ControllerRevision | undefined): PodTemplate | undefined {
  const parsed = z.looseObject({ spec: z.looseObject({ template: templateSchema }) }).safeParse(revision?.data)
  if (!parsed.success) return undefined
  const { $patch: _, ...template } = parsed.data.spec.template
  return template
}

function statusOf(rollout: StatefulRollout) {
  const { set, byOrdinal, currentRevision, updateRevision, nowMs } = rollout
  const pods = [...byOrdinal.values()]
  const live = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined)
  const ofRevision = (revision: string) => live.filter((pod) => revisionOf(set, pod) === revision).length
  const updatedReplicas = ofRevision(updateRevision)
  const readyReplicas = pods.filter((pod) => isReady(pod) && !isFinished(pod)).length
  const isAll = (count: number) => count === set.spec.replicas
  // All pods may be lost at once while a partition keeps them at their revision: the rollout is not done then.
  const isRolling = set.spec.updateStrategy.type === 'RollingUpdate'
  const isDone = isRolling && [pods.length, updatedReplicas, readyReplicas].every(isAll)
  return {
    observedGeneration: set.metadata.generation,
    replicas: pods.length,
    readyReplicas,
    availableReplicas: pods.filter((pod) => isAvailable(pod, set.spec.minReadySeconds, nowMs)).length,
    currentReplicas: isDone ? updatedReplicas : ofRevision(currentRevision),
    updatedReplicas,
    currentRevision: isDone ? updateRevision : currentRevision,
    updateRevision,
    collisionCount: set.status.collisionCount ?? 0,
  }
}
