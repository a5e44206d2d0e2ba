import type { Deployment, ReplicaSet } from '../shapes.ts'

/** The annotation with the revision. kubectl reads and writes it under this name in every dialect. */
export const revisionAnnotation = 'deployment.kubernetes.io/revision'
export const desiredReplicasAnnotation = 'deployment.kubernetes.io/desired-replicas'
const maxReplicasAnnotation = 'deployment.kubernetes.io/max-replicas'
const revisionHistoryAnnotation = 'deployment.kubernetes.io/revision-history'
const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'

const own = [
  revisionAnnotation,
  revisionHistoryAnnotation,
  desiredReplicasAnnotation,
  maxReplicasAnnotation,
  lastAppliedAnnotation,
]

const maxRevision = 2n ** 63n - 1n

/** Returns the revision, a number of 64 bits; 0 for none. */
export function revisionOf({ metadata }: ReplicaSet): bigint {
  const text = metadata.annotations[revisionAnnotation] ?? ''
  const revision = /^\d{1,19}$/.test(text) ? BigInt(text) : 0n
  return revision < maxRevision ? revision : 0n
}

export function compareRevisions(one: ReplicaSet, other: ReplicaSet): number {
  return Number(revisionOf(one) - revisionOf(other))
}

/** Returns the highest of the numbers, at least 0. */
export function highestOf(revisions: readonly bigint[]): bigint {
  return [0n, ...revisions].toSorted((one, other) => Number(other - one))[0] ?? 0n
}

/** Returns the revision of a new template: one above all old ones. */
export function nextRevision(old: readonly ReplicaSet[]): bigint {
  return highestOf(old.map(revisionOf)) + 1n
}

/**
 * Returns the annotations that a ReplicaSet gets from its Deployment (such as `kubernetes.io/change-cause`), and its
 * revision.
 */
export function inheritedAnnotations({ metadata }: Deployment, revision: bigint): Readonly<Record<string, string>> {
  const inherited = Object.entries(metadata.annotations).filter(([key]) => !own.includes(key))
  return { ...Object.fromEntries(inherited), [revisionAnnotation]: String(revision) }
}

/**
 * Returns the annotation with the earlier revisions of a ReplicaSet that becomes `revision`: a rollback makes an old
 * ReplicaSet the newest again.
 */
export function historyAnnotations(set: ReplicaSet, revision: bigint): Readonly<Record<string, string>> {
  const last = revisionOf(set)
  if (last === 0n || last === revision) return {}
  const earlier = set.metadata.annotations[revisionHistoryAnnotation]
  return { [revisionHistoryAnnotation]: earlier ? `${earlier},${last}` : String(last) }
}

/**
 * Returns the annotations with the size of the Deployment when it scaled this ReplicaSet. A later scaling is detected
 * by them.
 */
export function sizeAnnotations(desired: number, most: number): Readonly<Record<string, string>> {
  return { [desiredReplicasAnnotation]: String(desired), [maxReplicasAnnotation]: String(most) }
}
