import { isDeepStrictEqual } from 'node:util'
import type { EventType } from '../../../client/index.ts'
import { formatTime, type JsonObject } from '../../../model/api-object.ts'
import type { Condition } from '../../objects/parts.ts'
import type { Pod } from '../../objects/pod.ts'
import { nameOf, type Write } from '../../objects/writes.ts'
import type { JobEnd } from './end.ts'
import { isCounted } from './failure-policy.ts'
import { formatIntervals, includes } from './intervals.ts'
import { findPredecessors, indexOfPod, isFailed, isInRange, isTracked, type JobFacts } from './pods.ts'
import { isIndexed, jobsResource } from './shapes.ts'

/** The record of a tracked Pod in the status, or `running` for one that the Job still needs. */
export type PodRecord = 'index' | 'succeeded' | 'failed' | 'nothing' | 'running'

/** Returns how the end of a tracked Pod is recorded before it is let go. */
export function recordOf(pod: Pod, facts: JobFacts, end: JobEnd | undefined, stays: ReadonlySet<Pod>): PodRecord {
  const { job, names } = facts
  const [isFailure, isLeaving] = [isFailed(pod, job), job.metadata.deletionTimestamp !== undefined]
  const isSuccess = pod.status.phase === 'Succeeded'
  const isOver = isLeaving || end !== undefined || isSuccess
  if (!isOver && (!isFailure || stays.has(pod))) return 'running'
  if (!isInRange(pod, job, names)) return 'nothing'
  if (isSuccess && !facts.uncounted.failed.includes(pod.metadata.uid)) return isIndexed(job) ? 'index' : 'succeeded'
  // The Pods that a success ends are no failures, although they are being deleted by now.
  const isCountable = end?.isSuccess === true ? pod.status.phase === 'Failed' : isFailure || end !== undefined
  return isCountable && isCounted(job, pod) ? 'failed' : 'nothing'
}

/** Returns the failed Pods that stay until the next Pod of their index is there. */
export function stayingPods(facts: JobFacts): ReadonlySet<Pod> {
  return new Set(findPredecessors(facts).values())
}

/** Checks whether the stored status has the record of a Pod, so that its finalizer can go. */
export function isRecorded(pod: Pod, record: PodRecord, { recordedIndexes, uncounted, names }: JobFacts): boolean {
  switch (record) {
    case 'running':
      return false
    case 'nothing':
      return true
    case 'index':
      return includes(recordedIndexes, indexOfPod(pod, names) ?? -1)
    default:
      return uncounted[record].includes(pod.metadata.uid)
  }
}

interface JobEvent {
  readonly type: EventType
  readonly reason: string
  readonly message: string
}

interface StatusPlan {
  /** The change of the status, for exactly the version that was read; absent where nothing changes. */
  readonly write?: Write
  /** The Events of the change. */
  readonly events: readonly JobEvent[]
}

/** The most Pods that the status names at once. */
const mostUncounted = 500

/** Plans the status: counts, the Pods to be let go, conditions, times. */
export function planStatus(facts: JobFacts, end: JobEnd | undefined, nowMs: number): StatusPlan {
  const { job } = facts
  const records = recordPods(facts, end)
  const start = startOf(facts, end, nowMs)
  const ending = conditionsOf(facts, end, records.isEmpty, start.conditions, nowMs)
  const isComplete = ending.conditions.some(({ type, status }) => type === 'Complete' && status === 'True')
  const next: JsonObject = {
    startTime: start.startTime ?? null,
    completionTime: job.status.completionTime ?? (isComplete ? formatTime(nowMs) : null),
    active: facts.active.length || null,
    ready: facts.readyCount,
    terminating: facts.terminating.length,
    succeeded: (isIndexed(job) ? facts.succeeded : facts.counted.succeeded) || null,
    failed: facts.counted.failed || null,
    completedIndexes: formatIntervals(facts.succeededIndexes) || null,
    failedIndexes: facts.failedIndexes === undefined ? null : formatIntervals(facts.failedIndexes),
    uncountedTerminatedPods: {
      succeeded: records.succeeded.length === 0 ? null : records.succeeded,
      failed: records.failed.length === 0 ? null : records.failed,
    },
    conditions: ending.conditions.length === 0 ? null : (ending.conditions as unknown as readonly JsonObject[]),
  }
  const write = writeOf(facts, next)
  return { ...(write && { write }), events: write === undefined ? [] : [...start.events, ...ending.events] }
}

function recordPods(facts: JobFacts, end: JobEnd | undefined) {
  const [succeeded, failed] = [[...facts.uncounted.succeeded], [...facts.uncounted.failed]]
  const lists = { succeeded, failed }
  const stays = stayingPods(facts)
  let waiting = 0
  for (const pod of facts.pods.filter((each) => isTracked(each, facts.names))) {
    const record = recordOf(pod, facts, end, stays)
    waiting++
    if ((record !== 'succeeded' && record !== 'failed') || lists[record].includes(pod.metadata.uid)) continue
    if (succeeded.length + failed.length < mostUncounted) lists[record].push(pod.metadata.uid)
  }
  return { succeeded, failed, isEmpty: waiting === 0 && succeeded.length + failed.length === 0 }
}

/** Returns the start of a Job: it begins again when the Job is resumed. */
function startOf({ job }: JobFacts, end: JobEnd | undefined, nowMs: number) {
  const { conditions, startTime } = job.status
  const { suspend } = job.spec
  const started = startTime ?? (suspend ? undefined : formatTime(nowMs))
  const unchanged = { conditions, startTime: started, events: [] }
  if (end !== undefined || job.metadata.deletionTimestamp !== undefined) return unchanged
  const known = conditions.find(({ type }) => type === 'Suspended')
  if (known?.status === (suspend ? 'True' : 'False') || (known === undefined && !suspend)) return unchanged
  const [reason, message] = suspend ? ['JobSuspended', 'Job suspended'] : ['JobResumed', 'Job resumed']
  const condition = conditionOf('Suspended', { isOn: suspend, reason, message }, nowMs)
  const event: JobEvent = { type: 'Normal', reason: suspend ? 'Suspended' : 'Resumed', message }
  return {
    conditions: [...conditions.filter(({ type }) => type !== 'Suspended'), condition],
    startTime: suspend ? started : formatTime(nowMs),
    events: [event],
  }
}

function conditionsOf(
  facts: JobFacts,
  end: JobEnd | undefined,
  isCountedAll: boolean,
  conditions: readonly Condition[],
  nowMs: number,
): { readonly conditions: readonly Condition[]; readonly events: readonly JobEvent[] } {
  if (end === undefined) return { conditions, events: [] }
  const { reason, message, isSuccess } = end
  const because = { isOn: true, reason, message }
  if (!end.isRecorded) {
    const target = conditionOf(isSuccess ? 'SuccessCriteriaMet' : 'FailureTarget', because, nowMs)
    return { conditions: [...conditions, target], events: [] }
  }
  const isOver = isCountedAll && facts.active.length === 0 && facts.terminating.length === 0
  if (!isOver) return { conditions, events: [] }
  const last = conditionOf(isSuccess ? 'Complete' : 'Failed', because, nowMs)
  const event: JobEvent = isSuccess
    ? { type: 'Normal', reason: 'Completed', message: 'Job completed' }
    : { type: 'Warning', reason, message }
  return { conditions: [...conditions, last], events: [event] }
}

function conditionOf(
  type: string,
  { isOn, reason, message }: { readonly isOn: boolean; readonly reason: string; readonly message: string },
  nowMs: number,
): Condition {
  const now = formatTime(nowMs)
  const status = isOn ? 'True' : 'False'
  return { type, status, lastProbeTime: now, lastTransitionTime: now, reason, message }
}

/** Returns the merge patch from the stored status; fields whose value is null are to be absent. */
function writeOf({ job }: JobFacts, next: JsonObject): Write | undefined {
  const old = job.status as unknown as JsonObject
  const { uncountedTerminatedPods: lists, ...others } = next
  const changed = Object.entries(others).filter(([field, value]) => !isDeepStrictEqual(value, shownValue(old, field)))
  const stored = job.status.uncountedTerminatedPods
  const isSameLists = isDeepStrictEqual(listsOf(stored), lists) && job.status['ready'] !== undefined
  if (changed.length === 0 && isSameLists) return undefined
  const { uid, resourceVersion } = job.metadata
  const status = { ...Object.fromEntries(changed), ...(isSameLists ? {} : { uncountedTerminatedPods: lists ?? {} }) }
  return {
    verb: 'patch',
    target: nameOf(jobsResource, job),
    patch: { metadata: { uid, resourceVersion }, status },
    subresource: 'status',
  }
}

/** Returns a field of the stored status, where absent, empty and zero are the same for all but three fields. */
function shownValue(status: JsonObject, field: string) {
  const value = status[field]
  const isEmpty = value === undefined || value === 0 || value === '' || (Array.isArray(value) && value.length === 0)
  const showsZero = ['ready', 'terminating', 'failedIndexes'].includes(field)
  if (!isEmpty || (showsZero && value !== undefined)) return value
  return null
}

function listsOf({ succeeded, failed }: { readonly succeeded: readonly string[]; readonly failed: readonly string[] }) {
  return {
    succeeded: succeeded.length === 0 ? null : succeeded,
    failed: failed.length === 0 ? null : failed,
  }
}
