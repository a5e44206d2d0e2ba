import { z } from 'zod'
import type { Json, JsonObject } from '../../../model/api-object.ts'
import { claimChildren, controllerOf } from '../../objects/claim.ts'
import type { Node } from '../../objects/node.ts'
import { isAvailable, isFinished, isReady, nextAvailableInMs, type Pod } from '../../objects/pod.ts'
import { type Toleration, tolerationSchema, untoleratedTaint } from '../../objects/tolerations.ts'
import { podsResource, type Write } from '../../objects/writes.ts'
import { matchesNodeSelection } from '../../scheduler/node-fit.ts'
import { requirementsOf } from '../../scheduler/requirements.ts'
import { resolveCount } from '../fraction.ts'
import { appsVersion, daemonSetsResource } from '../kinds.ts'
import type { Plan } from '../plan.ts'
import { deletePod } from '../replica-set/plan.ts'
import { planRevisions } from '../revisions.ts'
import type { ControllerRevision, DaemonSet } from '../shapes.ts'
import { statusWrites } from '../status-write.ts'
import { podFromTemplate, revisionHashLabel } from '../template.ts'

export interface DaemonSetView {
  readonly set: DaemonSet
  readonly pods: readonly Pod[]
  readonly nodes: readonly Node[]
  readonly revisions: readonly ControllerRevision[]
  /** The taints that every daemon pod tolerates: those of nodes that are not ready or under pressure. */
  readonly toleratedTaints: ToleratedTaints
  readonly nowMs: number
}

interface ToleratedTaints {
  readonly noExecute: readonly string[]
  readonly noSchedule: readonly string[]
  /**
   * The taint of a node without a pod network. Daemon pods on the host network tolerate it, because they may be what
   * installs the pod network.
   */
  readonly networkUnavailable: string
}

/**
 * Plans one pod on each node that suits, and none elsewhere. When the template changes, the pods of a few nodes at a
 * time are replaced.
 */
export function planDaemonSet(view: DaemonSetView): Plan {
  const { set, nowMs } = view
  const owner = ownerOf(set)
  const claim = claimChildren(owner, set.spec.selector, podsResource, view.pods)
  const history = view.revisions.filter((revision) => controllerOf(revision)?.uid === set.metadata.uid)
  const hashes = claim.mine.map(({ metadata }) => `${set.metadata.name}-${metadata.labels[revisionHashLabel]}`)
  const limit = {
    revisionHistoryLimit: set.spec.revisionHistoryLimit,
    inUse: new Set(hashes),
    hashLabel: revisionHashLabel,
  }
  const revision = planRevisions(owner, set.spec.template, history, limit)
  const states = nodeStates(view, claim.mine)
  const isLeaving = set.metadata.deletionTimestamp !== undefined
  const steps = isLeaving ? [] : stepWrites(view, states, revision.hash, claim.mine)
  const status = statusOf(set, states, revision.hash, nowMs) as unknown as JsonObject
  return {
    writes: [...claim.writes, ...revision.writes, ...steps, ...statusWrites(daemonSetsResource, owner, status)],
    againInMs: nextAvailableInMs(claim.mine, set.spec.minReadySeconds, nowMs),
  }
}

interface NodeState {
  readonly node: Node
  /** A new pod may be created on the node. */
  readonly shouldRun: boolean
  /** A pod that runs on the node may stay. */
  readonly mayStay: boolean
  /** The pods on the node, the oldest first. */
  readonly pods: readonly Pod[]
}

function ownerOf(set: DaemonSet): DaemonSet & { apiVersion: string; kind: string } {
  return { ...set, apiVersion: appsVersion, kind: 'DaemonSet' }
}

function nodeStates({ set, nodes, toleratedTaints }: DaemonSetView, mine: readonly Pod[]): readonly NodeState[] {
  const requirements = requirementsOf({ ...set.spec.template.spec } as Pod['spec'])
  const tolerations = [...requirements.tolerations, ...ownTolerations(set, toleratedTaints).map(parseToleration)]
  const byNode = Map.groupBy(mine.toSorted(byAge), nodeOf)
  return nodes.map((node) => {
    const isWanted = isNamed(set, node) && matchesNodeSelection(requirements, node)
    const taintsOf = (effects: readonly ('NoSchedule' | 'NoExecute')[]) =>
      untoleratedTaint(node.spec.taints, tolerations, effects)
    return {
      node,
      shouldRun: isWanted && taintsOf(['NoSchedule', 'NoExecute']) === undefined,
      mayStay: isWanted && taintsOf(['NoExecute']) === undefined,
      pods: byNode.get(node.metadata.name) ?? [],
    }
  })
}

function byAge(one: Pod, other: Pod): number {
  return Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp)
}

function isNamed({ spec }: DaemonSet, node: Node): boolean {
  const { nodeName } = spec.template.spec
  return nodeName === undefined || nodeName === node.metadata.name
}

/** Returns the node that the pod runs on or, before it is bound, the node that it was created for. */
function nodeOf({ spec }: Pod): string {
  if (spec.nodeName) return spec.nodeName
  const required = requirementsOf(spec).affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution
  const fields = required?.nodeSelectorTerms.flatMap(({ matchFields }) => matchFields) ?? []
  return fields.find(({ key }) => key === 'metadata.name')?.values[0] ?? ''
}

function ownTolerations({ spec }: DaemonSet, taints: ToleratedTaints): readonly JsonObject[] {
  const { noExecute, noSchedule, networkUnavailable } = taints
  const toleration = (key: string, effect: string): JsonObject => ({ key, operator: 'Exists', effect })
  return [
    ...noExecute.map((key) => toleration(key, 'NoExecute')),
    ...noSchedule.map((key) => toleration(key, 'NoSchedule')),
    ...(spec.template.spec['hostNetwork'] === true ? [toleration(networkUnavailable, 'NoSchedule')] : []),
  ]
}

/**
 * Merges the tolerations of a template with those of every daemon pod, which win over a template's toleration of the
 * same taint: a daemon pod stays on its node for as long as the taint does.
 */
function mergedTolerations(given: readonly JsonObject[], own: readonly JsonObject[]): JsonObject[] {
  const isReplaced = ({ key, operator, effect, value = '' }: JsonObject) =>
    value === '' &&
    own.some((each) => each['key'] === key && each['operator'] === operator && each['effect'] === effect)
  return [...given.filter((toleration) => !isReplaced(toleration)), ...own]
}

function parseToleration(toleration: JsonObject): Toleration {
  return tolerationSchema.parse(toleration)
}

function stepWrites(
  view: DaemonSetView,
  states: readonly NodeState[],
  hash: string,
  mine: readonly Pod[],
): readonly Write[] {
  const known = new Set(states.map(({ node }) => node.metadata.name))
  const stray = mine.filter((pod) => !known.has(nodeOf(pod)) && !isLeaving(pod))
  const surge = surgeOf(view.set, states)
  const presence = states.flatMap((state) => presenceWrites(view, state, { hash, surge }))
  const isRolling = view.set.spec.updateStrategy.type === 'RollingUpdate'
  const replace = surge > 0 ? surgeWrites : updateWrites
  const update = isRolling ? replace(view, states, { hash, surge }) : []
  const planned = new Set(presence.map((write) => (write.verb === 'delete' ? write.uid : '')))
  const fresh = update.filter((write) => write.verb !== 'delete' || !planned.has(write.uid))
  return [...stray.map(deletePod), ...presence, ...fresh]
}

interface Rollout {
  /** The hash of the template that new pods get. */
  readonly hash: string
  /** How many nodes may run a new pod beside an old one; 0: an old pod goes before the new one comes. */
  readonly surge: number
}

function surgeOf({ spec }: DaemonSet, states: readonly NodeState[]): number {
  const { type, rollingUpdate } = spec.updateStrategy
  const wanted = states.filter(({ shouldRun }) => shouldRun).length
  return type === 'RollingUpdate' ? resolveCount(rollingUpdate.maxSurge, wanted, 'up') : 0
}

function isLeaving({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined
}

/**
 * Creates missing pods and deletes finished ones, which the next pass replaces. Of several pods on one node the oldest
 * stays, and beside it the one that will follow it.
 */
function presenceWrites(view: DaemonSetView, state: NodeState, rollout: Rollout): readonly Write[] {
  const staying = state.pods.filter((pod) => !isLeaving(pod))
  if (!state.mayStay) return staying.map(deletePod)
  const finished = staying.filter(isFinished)
  const running = staying.filter((pod) => !isFinished(pod))
  const surplus = rollout.surge > 0 ? surplusOf(view, running, rollout) : running.slice(1)
  const isMissing = state.shouldRun && state.pods.length === 0
  return [
    ...[...finished, ...surplus].map(deletePod),
    ...(isMissing ? [createPod(view, state.node, rollout.hash)] : []),
  ]
}

/** Returns the pods that go while new ones run beside old ones: an old one when it fails, or when the new one serves. */
function surplusOf({ set, nowMs }: DaemonSetView, running: readonly Pod[], { hash }: Rollout): readonly Pod[] {
  const [old, ...moreOld] = running.filter((pod) => isOld(pod, hash))
  const [fresh, ...moreFresh] = running.filter((pod) => !isOld(pod, hash))
  const isReplaced =
    old !== undefined && fresh !== undefined && (!isReady(old) || isAvailable(fresh, set.spec.minReadySeconds, nowMs))
  return [...moreOld, ...moreFresh, ...(isReplaced ? [old] : [])]
}

/** Creates new pods beside old ones: at once where the old one is not available, else on as many nodes as may surge. */
function surgeWrites(view: DaemonSetView, states: readonly NodeState[], { hash, surge }: Rollout): readonly Write[] {
  const { set, nowMs } = view
  const isUp = (pod: Pod | undefined) => pod !== undefined && isAvailable(pod, set.spec.minReadySeconds, nowMs)
  const nodes = states
    .filter(({ shouldRun }) => shouldRun)
    .map(({ node, pods }) => {
      const running = pods.filter((pod) => !isLeaving(pod) && !isFinished(pod))
      const [old, fresh] = [true, false].map((wanted) => running.find((pod) => isOld(pod, hash) === wanted))
      return { node, old, fresh }
    })
    .filter(({ old }) => old !== undefined)
  const surging = nodes.filter(({ fresh }) => fresh !== undefined && !isUp(fresh)).length
  const alone = nodes.filter(({ fresh }) => fresh === undefined)
  const next = alone.filter(({ old }) => isUp(old)).slice(0, Math.max(0, surge - surging))
  return [...alone.filter(({ old }) => !isUp(old)), ...next].map(({ node }) => createPod(view, node, hash))
}

/**
 * Replaces old pods. Those that are not available are deleted at once. Of the others, as many are deleted as
 * `maxUnavailable` allows beside the nodes without an available pod.
 */
function updateWrites(
  { set, nowMs }: DaemonSetView,
  states: readonly NodeState[],
  { hash }: Rollout,
): readonly Write[] {
  const wanted = states.filter(({ shouldRun }) => shouldRun)
  const { maxUnavailable } = set.spec.updateStrategy.rollingUpdate
  const allowed = Math.max(1, resolveCount(maxUnavailable, wanted.length, 'up'))
  const isUp = (pod: Pod) => !isLeaving(pod) && isAvailable(pod, set.spec.minReadySeconds, nowMs)
  const missing = wanted.filter(({ pods }) => !pods.some(isUp)).length
  const old = wanted.flatMap(({ pods }) => pods.filter((pod) => !isLeaving(pod) && isOld(pod, hash)).slice(0, 1))
  const replaceable = old.filter(isUp).slice(0, Math.max(0, allowed - missing))
  return [...old.filter((pod) => !isUp(pod)), ...replaceable].map(deletePod)
}

function isOld({ metadata }: Pod, hash: string): boolean {
  return metadata.labels[revisionHashLabel] !== hash
}

/** Creates a pod whose node affinity allows one node only. The scheduler binds it, so that its requests count. */
function createPod({ set, toleratedTaints }: DaemonSetView, node: Node, hash: string): Write {
  const { template } = set.spec
  const { tolerations = [], affinity } = template.spec as { tolerations?: JsonObject[]; affinity?: JsonObject }
  const object = podFromTemplate(ownerOf(set), template, {
    generateName: `${set.metadata.name}-`,
    labels: { [revisionHashLabel]: hash },
    spec: {
      tolerations: mergedTolerations(tolerations, ownTolerations(set, toleratedTaints)),
      affinity: { ...affinity, nodeAffinity: pinnedAffinity(affinity?.['nodeAffinity'], node) },
    },
  })
  return { verb: 'create', resource: podsResource, object }
}

/** Restricts every term of the node affinity to the node's name. */
function pinnedAffinity(affinity: Json | undefined, node: Node): JsonObject {
  const pin = { key: 'metadata.name', operator: 'In', values: [node.metadata.name] }
  const { requiredDuringSchedulingIgnoredDuringExecution: required, ...preferred } = nodeAffinityShape.parse(affinity)
  const terms = required?.nodeSelectorTerms ?? [{}]
  const nodeSelectorTerms = terms.map((term) => ({ ...term, matchFields: [pin] }))
  return {
    ...preferred,
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
  } as unknown as JsonObject
}

/** The part of node affinity that must be parsed to add a node; the rest is copied. */
const nodeAffinityShape = z
  .looseObject({
    requiredDuringSchedulingIgnoredDuringExecution: z
      .looseObject({ nodeSelectorTerms: z.array(z.looseObject({})) })
      .nullish(),
  })
  .nullish()
  .transform((affinity) => affinity ?? {})

function statusOf(set: DaemonSet, states: readonly NodeState[], hash: string, nowMs: number) {
  const wanted = states.filter(({ shouldRun }) => shouldRun)
  const first = wanted.flatMap(({ pods }) => pods.filter((pod) => !isLeaving(pod)).slice(0, 1))
  const numberAvailable = first.filter((pod) => isAvailable(pod, set.spec.minReadySeconds, nowMs)).length
  return {
    observedGeneration: set.metadata.generation,
    currentNumberScheduled: first.length,
    desiredNumberScheduled: wanted.length,
    numberMisscheduled: states.filter(({ shouldRun, pods }) => !shouldRun && pods.length > 0).length,
    numberReady: first.filter(isReady).length,
    updatedNumberScheduled: first.filter((pod) => !isOld(pod, hash)).length,
    numberAvailable,
    numberUnavailable: wanted.length - numberAvailable,
  }
}
