import type { JobNames } from '../../../model/job-names.ts'
import { isActive, isFinished, isReady, type Pod } from '../../objects/pod.ts'
import { isCounted, matchFailurePolicy } from './failure-policy.ts'
import { countOf, type Intervals, includes, intervalsOf, parseIntervals, union } from './intervals.ts'
import { isIndexed, type Job, replacesEndedOnly } from './shapes.ts'

/** A Job and its Pods, counted: what the plans of Pods and of the status read. */
export interface JobFacts {
  readonly job: Job
  readonly names: JobNames
  /** All Pods of the Job, those of an Indexed Job in the order of their indexes. */
  readonly pods: readonly Pod[]
  readonly active: readonly Pod[]
  readonly terminating: readonly Pod[]
  readonly readyCount: number
  /** The Pods that the status has not counted, with their uids in the status where they stand there. */
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] }
  /** The counters of the status with the Pods that the Job has let go since. */
  readonly counted: { readonly succeeded: number; readonly failed: number }
  /** The numbers of all Pods that succeeded or failed, those not yet in the status included. */
  readonly succeeded: number
  readonly failed: number
  readonly recordedIndexes: Intervals
  readonly succeededIndexes: Intervals
  /** The indexes that failed for good; undefined where the Job has no limit per index. */
  readonly failedIndexes: Intervals | undefined
}

export function isTracked({ metadata }: Pod, { trackingFinalizer }: JobNames): boolean {
  return metadata.finalizers.includes(trackingFinalizer)
}

/** Returns the index of a Pod; undefined where it has none. */
export function indexOfPod({ metadata }: Pod, { completionIndex }: JobNames): number | undefined {
  const text = metadata.annotations[completionIndex] ?? ''
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined
}

/** Checks whether a Pod counts as failed: it ended so, or is being deleted and its Job does not wait for its end. */
export function isFailed(pod: Pod, job: Job): boolean {
  if (pod.status.phase === 'Failed') return true
  if (replacesEndedOnly(job)) return false
  return pod.metadata.deletionTimestamp !== undefined && pod.status.phase !== 'Succeeded'
}

/** Checks whether an Indexed Job has the index of a Pod; other Jobs take any Pod. */
export function isInRange(pod: Pod, job: Job, names: JobNames): boolean {
  if (!isIndexed(job)) return true
  const index = indexOfPod(pod, names)
  return index !== undefined && index < (job.spec.completions ?? 0)
}

export function gatherFacts(job: Job, unordered: readonly Pod[], names: JobNames): JobFacts {
  const order = (pod: Pod) => indexOfPod(pod, names) ?? -1
  const pods = isIndexed(job) ? unordered.toSorted((one, other) => order(one) - order(other)) : unordered
  const tracked = pods.filter((pod) => isTracked(pod, names))
  const { uncounted, counted } = settleCounters(job, tracked)
  const fresh = tracked.filter((pod) => isInRange(pod, job, names))
  const isNew = (pod: Pod, list: readonly string[]) => !list.includes(pod.metadata.uid)
  const succeeded = fresh.filter((pod) => pod.status.phase === 'Succeeded')
  const failed = fresh.filter((pod) => isFailed(pod, job) && isNew(pod, uncounted.failed) && isCounted(job, pod))
  const recordedIndexes = isIndexed(job) ? parseIntervals(job.status.completedIndexes, job.spec.completions ?? 0) : []
  const indexes = succeeded.flatMap((pod) => indexOfPod(pod, names) ?? [])
  const succeededIndexes = isIndexed(job) ? union(recordedIndexes, intervalsOf(indexes)) : []
  const newSuccesses = succeeded.filter((pod) => isNew(pod, uncounted.succeeded)).length
  return {
    job,
    names,
    pods,
    active: pods.filter(isActive),
    terminating: pods.filter((pod) => !isFinished(pod) && pod.metadata.deletionTimestamp !== undefined),
    readyCount: pods.filter((pod) => isActive(pod) && isReady(pod)).length,
    uncounted,
    counted,
    succeeded: isIndexed(job)
      ? countOf(succeededIndexes)
      : counted.succeeded + uncounted.succeeded.length + newSuccesses,
    failed: counted.failed + uncounted.failed.length + failed.length,
    recordedIndexes,
    succeededIndexes,
    failedIndexes: findFailedIndexes(job, fresh, names),
  }
}

/** Moves the uids of Pods that have lost their finalizer, or are gone, from the lists of the status to its counters. */
function settleCounters({ status }: Job, tracked: readonly Pod[]): Pick<JobFacts, 'uncounted' | 'counted'> {
  const kept = new Set(tracked.map(({ metadata }) => metadata.uid))
  const { succeeded, failed } = status.uncountedTerminatedPods
  const uncounted = {
    succeeded: succeeded.filter((uid) => kept.has(uid)),
    failed: failed.filter((uid) => kept.has(uid)),
  }
  const counted = {
    succeeded: status.succeeded + succeeded.length - uncounted.succeeded.length,
    failed: status.failed + failed.length - uncounted.failed.length,
  }
  return { uncounted, counted }
}

function findFailedIndexes(job: Job, tracked: readonly Pod[], names: JobNames): Intervals | undefined {
  const { backoffLimitPerIndex, completions = 0 } = job.spec
  if (!isIndexed(job) || backoffLimitPerIndex === undefined) return undefined
  const failed = tracked.filter((pod) => failsIndex(job, pod, names, backoffLimitPerIndex))
  const before = parseIntervals(job.status.failedIndexes ?? '', completions)
  return union(before, intervalsOf(failed.flatMap((pod) => indexOfPod(pod, names) ?? [])))
}

function failsIndex(job: Job, pod: Pod, names: JobNames, limit: number): boolean {
  if (!isFailed(pod, job)) return false
  const action = matchFailurePolicy(job, pod)?.action
  if (action === 'FailIndex') return true
  return action !== 'Ignore' && numberIn(pod, names.indexFailureCount) >= limit
}

/** Returns the number in an annotation of a Pod; 0 where it has none. */
export function numberIn({ metadata }: Pod, annotation: string): number {
  const text = metadata.annotations[annotation] ?? ''
  const number = /^\d{1,10}$/.test(text) ? Number(text) : 0
  return number < 2 ** 31 ? number : 0
}

/** Returns how often the index of a Pod had failed before it, ignored failures included. */
export function failuresBefore(pod: Pod, names: JobNames): number {
  return numberIn(pod, names.indexFailureCount) + numberIn(pod, names.indexIgnoredFailureCount)
}

/**
 * Returns by index the failed Pod that stays until its successor is there: a Pod inherits the number of failures from
 * the one before it.
 */
export function findPredecessors(facts: JobFacts): ReadonlyMap<number, Pod> {
  const { job, names, failedIndexes, succeededIndexes } = facts
  const last = new Map<number, Pod>()
  if (failedIndexes === undefined) return last
  const running = new Set(facts.active.map((pod) => indexOfPod(pod, names)))
  for (const pod of facts.pods) {
    const index = indexOfPod(pod, names)
    if (index === undefined || !isTracked(pod, names) || !isInRange(pod, job, names) || !isFailed(pod, job)) continue
    if (includes(succeededIndexes, index) || includes(failedIndexes, index) || running.has(index)) continue
    const known = last.get(index)
    if (known === undefined || isLater(pod, known, names)) last.set(index, pod)
  }
  return last
}

function isLater(pod: Pod, other: Pod, names: JobNames): boolean {
  return failuresBefore(pod, names) >= failuresBefore(other, names) && endedMs(pod) >= endedMs(other)
}

/**
 * Returns when a Pod ended: when the last of its containers did, when it became not ready, or when it was deleted;
 * else when it was created.
 */
export function endedMs({ metadata, status }: Pod): number {
  const ends = status.containerStatuses.map(({ state }) => Date.parse(state.terminated?.finishedAt ?? ''))
  if (ends.length > 0 && ends.every((each) => !Number.isNaN(each))) return Math.max(...ends)
  const ready = status.conditions.find(({ type, status: on }) => type === 'Ready' && on === 'False')
  const notReadyMs = Date.parse(ready?.lastTransitionTime ?? '')
  if (!Number.isNaN(notReadyMs)) return notReadyMs
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp } = metadata
  if (deletionTimestamp !== undefined) return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000
  return Date.parse(creationTimestamp)
}
