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

export function revisionOf({ metadata }: ReplicaSet): number {
  const revision = Number(metadata.annotations[revisionAnnotation] ?? 0)
  return Number.isSafeInteger(revision) && revision > 0 ? revision : 0
}

/** Returns the revision of a new template: one above all old ones. */
export function nextRevision(old: readonly ReplicaSet[]): number {
  return Math.max(0, ...old.map(revisionOf)) + 1
}

/**
 * Returns the annotations that a ReplicaSet gets from its Deployment (such as `kubernetes.io/change-cause`), and its
 * revision.
 */
export function inheritedAnnotations({ metadata }: Deployment, revision: number): Readonly<Record<string, string>> {
  const inherited = Object.entries(metadata.annotations).filter(([key]) => !own.includes(key))
  return { ...Object.fromEntries(inherited), [revisionAnnotation]: String(revision) }
}

/**
 * Returns the annotation with the earlier revisions of a ReplicaSet that becomes `revision`: a rollback makes an old
 * ReplicaSet the newest again.
 */
export function historyAnnotations(set: ReplicaSet, revision: number): Readonly<Record<string, string>> {
  const last = revisionOf(set)
  if (last === 0 || last === revision) return {}
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
