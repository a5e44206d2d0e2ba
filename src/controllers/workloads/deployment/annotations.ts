import type { Deployment, ReplicaSet } from '../shapes.ts'

/** kubectl reads and writes these by name, whatever the dialect. */
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

/** The next revision when nothing newer exists: one above all old ones. */
export function nextRevision(old: readonly ReplicaSet[]): number {
  return Math.max(0, ...old.map(revisionOf)) + 1
}

/** What a ReplicaSet takes over from its Deployment (`kubernetes.io/change-cause` among it), and the revision it is. */
export function inheritedAnnotations({ metadata }: Deployment, revision: number): Readonly<Record<string, string>> {
  const inherited = Object.entries(metadata.annotations).filter(([key]) => !own.includes(key))
  return { ...Object.fromEntries(inherited), [revisionAnnotation]: String(revision) }
}

/** Which revisions a ReplicaSet was before it becomes `revision`: a rollback makes an old one the newest again. */
export function historyAnnotations(set: ReplicaSet, revision: number): Readonly<Record<string, string>> {
  const last = revisionOf(set)
  if (last === 0 || last === revision) return {}
  const earlier = set.metadata.annotations[revisionHistoryAnnotation]
  return { [revisionHistoryAnnotation]: earlier ? `${earlier},${last}` : String(last) }
}

/** How large the Deployment was when it sized this ReplicaSet: how a later scaling is noticed. */
export function sizeAnnotations(desired: number, most: number): Readonly<Record<string, string>> {
  return { [desiredReplicasAnnotation]: String(desired), [maxReplicasAnnotation]: String(most) }
}
