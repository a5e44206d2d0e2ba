import { isReady, type Pod, readySinceMs } from '../objects/pod.ts'

const phaseOrder: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 }

/** Returns a negative number if `one` is to be deleted before `other`. */
type Rule = (one: Pod, other: Pod) => number

/**
 * Sorts pods in the order in which a workload deletes them: not bound before bound, pending before running, not ready
 * before ready, the lower `deletionCost` annotation, more pods of the workload on the same node, ready more recently,
 * more restarts, younger.
 */
export function inDeletionOrder(pods: readonly Pod[], deletionCostAnnotation: string): readonly Pod[] {
  const perNode = countByNode(pods)
  const costs = (pod: Pod) => costOf(pod, deletionCostAnnotation)
  const crowd = (pod: Pod) => perNode.get(pod.spec.nodeName ?? '') ?? 0
  const rules: readonly Rule[] = [
    (one, other) => Number(isPlaced(one)) - Number(isPlaced(other)),
    (one, other) => phaseRank(one) - phaseRank(other),
    (one, other) => Number(isReady(one)) - Number(isReady(other)),
    (one, other) => costs(one) - costs(other),
    (one, other) => crowd(other) - crowd(one),
    (one, other) => readySinceMs(other) - readySinceMs(one),
    (one, other) => restartsOf(other) - restartsOf(one),
    (one, other) => createdMs(other) - createdMs(one),
    (one, other) => (one.metadata.name < other.metadata.name ? -1 : 1),
  ]
  return [...pods].sort((one, other) => firstDifference(rules, one, other))
}

function firstDifference(rules: readonly Rule[], one: Pod, other: Pod): number {
  for (const rule of rules) {
    const difference = rule(one, other)
    if (difference !== 0) return difference
  }
  return 0
}

function countByNode(pods: readonly Pod[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { spec } of pods) counts.set(spec.nodeName ?? '', (counts.get(spec.nodeName ?? '') ?? 0) + 1)
  return counts
}

function isPlaced({ spec }: Pod): boolean {
  return spec.nodeName !== undefined && spec.nodeName !== ''
}

function phaseRank({ status }: Pod): number {
  return phaseOrder[status.phase] ?? 1
}

function costOf({ metadata }: Pod, annotation: string): number {
  const cost = Number(metadata.annotations[annotation] ?? 0)
  return Number.isInteger(cost) ? cost : 0
}

function restartsOf({ status }: Pod): number {
  return Math.max(0, ...status.containerStatuses.map(({ restartCount }) => restartCount))
}

function createdMs({ metadata }: Pod): number {
  return Date.parse(metadata.creationTimestamp) || 0
}
