import { resolveCount } from '../fraction.ts'
import type { Deployment, ReplicaSet } from '../shapes.ts'

export interface RolloutBounds {
  /** The most pods above `replicas` while both versions run. */
  readonly surge: number
  /** The most pods below `replicas` that may be unavailable. */
  readonly unavailable: number
}

/**
 * Returns the bounds of a rollout. With Recreate both are 0: it is available when all its pods are. Percentages of
 * surge round up, those of unavailability down. If both are 0 nothing could move, so one pod may be unavailable.
 */
export function rolloutBounds({ spec }: Deployment): RolloutBounds {
  if (spec.strategy.type === 'Recreate') return { surge: 0, unavailable: 0 }
  const { maxSurge, maxUnavailable } = spec.strategy.rollingUpdate
  const surge = resolveCount(maxSurge, spec.replicas, 'up')
  const unavailable = Math.min(resolveCount(maxUnavailable, spec.replicas, 'down'), spec.replicas)
  return surge === 0 && unavailable === 0 ? { surge, unavailable: Math.min(1, spec.replicas) } : { surge, unavailable }
}

export function wantedReplicas(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, { spec }) => sum + spec.replicas, 0)
}

export function availableReplicas(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, { status }) => sum + status.availableReplicas, 0)
}

/** Limits the reported replicas to the wanted number: a set with a smaller size may not have updated its status yet. */
function stayingAvailable(sets: readonly ReplicaSet[]): number {
  return sets.reduce((sum, { spec, status }) => sum + Math.min(spec.replicas, status.availableReplicas), 0)
}

/** Returns the size of the newest ReplicaSet in this step: as many as the surge allows, and no more than wanted. */
export function newestReplicas(deployment: Deployment, newest: number, all: number): number {
  const { replicas, strategy } = deployment.spec
  if (strategy.type === 'Recreate') return replicas
  const room = replicas + rolloutBounds(deployment).surge - all
  return room <= 0 ? newest : newest + Math.min(room, replicas - newest)
}

/**
 * Returns the sizes of the old ReplicaSets in this step. Pods that are not available are removed first, then as many
 * available pods as the bounds allow.
 */
export function oldReplicas(
  deployment: Deployment,
  newest: ReplicaSet,
  old: readonly ReplicaSet[],
): ReadonlyMap<string, number> {
  const { unavailable } = rolloutBounds(deployment)
  const minAvailable = deployment.spec.replicas - unavailable
  const newestUnavailable = Math.max(0, newest.spec.replicas - newest.status.availableReplicas)
  const all = [...old, newest]
  const counts = new Map(old.map(({ metadata, spec }) => [metadata.name, spec.replicas]))
  let room = wantedReplicas(all) - minAvailable - newestUnavailable
  if (room <= 0) return counts
  const take = (set: ReplicaSet, most: number): number => {
    const count = counts.get(set.metadata.name) ?? 0
    const taken = Math.max(0, Math.min(count, most))
    counts.set(set.metadata.name, count - taken)
    return taken
  }
  for (const set of old) room -= take(set, Math.min(room, set.spec.replicas - set.status.availableReplicas))
  let spare = stayingAvailable(all) - minAvailable
  for (const set of old) spare -= take(set, spare)
  return counts
}

/**
 * Returns the sizes after the Deployment was scaled during a rollout. The difference is divided in proportion to the
 * sizes, the largest first; the rest after rounding goes to the largest.
 */
export function spreadReplicas(sets: readonly ReplicaSet[], total: number): ReadonlyMap<string, number> {
  const current = wantedReplicas(sets)
  const difference = total - current
  const bySize = [...sets].sort(
    (one, other) => other.spec.replicas - one.spec.replicas || createdOrder(other, one) * Math.sign(difference || 1),
  )
  const counts = new Map<string, number>()
  let left = difference
  for (const { metadata, spec } of bySize) {
    const share = current === 0 ? 0 : Math.round((spec.replicas * total) / current) - spec.replicas
    const added = difference > 0 ? Math.min(share, left) : Math.max(share, left)
    counts.set(metadata.name, Math.max(0, spec.replicas + added))
    left -= added
  }
  const first = bySize[0]?.metadata.name
  if (first !== undefined) counts.set(first, Math.max(0, (counts.get(first) ?? 0) + left))
  return counts
}

export function createdOrder(one: ReplicaSet, other: ReplicaSet): number {
  const byTime = Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp)
  return byTime || (one.metadata.name < other.metadata.name ? -1 : 1)
}
