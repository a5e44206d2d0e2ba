import type { JsonObject } from '../../../model/api-object.ts'
import type { JobNames } from '../../../model/job-names.ts'
import type { Pod } from '../../objects/pod.ts'
import { nameOf, podsResource, type Write } from '../../objects/writes.ts'
import { inDeletionOrder } from '../deletion-order.ts'
import { podFromTemplate } from '../template.ts'
import { type FailureStreak, waitAfterFailures } from './backoff.ts'
import { isCounted } from './failure-policy.ts'
import { firstMissing, intervalsOf, union } from './intervals.ts'
import { endedMs, failuresBefore, findPredecessors, indexOfPod, isTracked, type JobFacts, numberIn } from './pods.ts'
import { isIndexed, type Job, jobType, replacesEndedOnly } from './shapes.ts'

/** The most Pods that one pass creates or deletes, so that one Job does not delay the others. */
const burst = 500

interface PodPlan {
  readonly writes: readonly Write[]
  /** When Pods that wait after failures are due. */
  readonly againInMs?: number | undefined
}

/** Plans the Pods that run: deletes surplus ones, or creates missing ones, unless the Job waits after failures. */
export function planRunningPods(facts: JobFacts, streak: FailureStreak, nowMs: number): PodPlan {
  const { job, active, terminating } = facts
  const wanted = job.spec.suspend ? 0 : wantedCount(facts)
  const surplus = findSurplus(facts, Math.max(0, active.length - wanted)).slice(0, burst)
  const tracked = surplus.filter((pod) => isTracked(pod, facts.names))
  if (surplus.length > 0)
    return { writes: [...tracked.map((pod) => releasePod(pod, facts.names)), ...surplus.map(deletePod)] }
  const replaced = replacesEndedOnly(job) ? terminating.length : 0
  const missing = Math.min(wanted - replaced - active.length, burst)
  if (job.spec.suspend || missing <= 0) return { writes: [] }
  if (facts.failedIndexes !== undefined) return planIndexes(facts, missing, nowMs)
  const waitMs = waitAfterFailures(streak.failures, streak.lastFailureMs, nowMs)
  if (waitMs > 0) return { writes: [], againInMs: waitMs }
  if (isIndexed(job)) return { writes: pendingIndexes(facts, missing).map((index) => createPod(facts, { index })) }
  return { writes: Array.from({ length: missing }, () => createPod(facts, undefined)) }
}

function wantedCount({ job, active, succeeded }: JobFacts): number {
  const { completions, parallelism } = job.spec
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism
  return Math.max(0, Math.min(completions - succeeded, parallelism))
}

/** Returns the Pods to delete: those without an index of the Job, doubles of one index, then others until `least`. */
function findSurplus({ job, names, active }: JobFacts, least: number): readonly Pod[] {
  // The order of thousands costs more than the rest of a pass, and most passes delete nothing.
  if (least === 0 && (!isIndexed(job) || neededPods(job, names, active).size === active.length)) return []
  const ordered = inDeletionOrder(active, '')
  if (!isIndexed(job)) return ordered.slice(0, least)
  const needed = neededPods(job, names, ordered)
  const needless = ordered.filter((pod) => !needed.has(pod))
  const left = ordered.filter((pod) => needed.has(pod))
  return [...needless, ...left.slice(0, Math.max(0, least - needless.length))]
}

/** Returns the last Pod of each index in the order of deletion: the others are doubles. */
function neededPods({ spec }: Job, names: JobNames, ordered: readonly Pod[]): ReadonlySet<Pod> {
  const last = new Map<number, Pod>()
  for (const pod of ordered) {
    const index = indexOfPod(pod, names)
    if (index !== undefined && index < (spec.completions ?? 0)) last.set(index, pod)
  }
  return new Set(last.values())
}

function planIndexes(facts: JobFacts, missing: number, nowMs: number): PodPlan {
  const predecessors = findPredecessors(facts)
  const pending = pendingIndexes(facts, missing).map((index) => {
    const before = predecessors.get(index)
    const failures = before === undefined ? 0 : failuresBefore(before, facts.names) + 1
    const waitMs = before === undefined ? 0 : waitAfterFailures(failures, endedMs(before), nowMs)
    return { index, before, waitMs }
  })
  const due = pending.filter(({ waitMs }) => waitMs === 0)
  const waits = pending.map(({ waitMs }) => waitMs).filter((waitMs) => waitMs > 0)
  return {
    writes: due.map((each) => createPod(facts, each)),
    againInMs: waits.length === 0 ? undefined : Math.min(...waits),
  }
}

/** Returns the lowest indexes that have neither ended nor a Pod. */
function pendingIndexes(facts: JobFacts, count: number): readonly number[] {
  const { job, names, active, terminating, succeededIndexes, failedIndexes = [] } = facts
  const running = replacesEndedOnly(job) ? [...active, ...terminating] : active
  const taken = intervalsOf(running.flatMap((pod) => indexOfPod(pod, names) ?? []))
  return firstMissing(union(union(succeededIndexes, failedIndexes), taken), count, job.spec.completions ?? 0)
}

export function ownerOf(job: Job): Job & { apiVersion: string; kind: string } {
  return { ...job, apiVersion: jobType.apiVersion, kind: jobType.kind }
}

interface IndexedPod {
  readonly index: number
  /** The failed Pod whose place this one takes. */
  readonly before?: Pod | undefined
}

function createPod(facts: JobFacts, place: IndexedPod | undefined): Write {
  const { job, names } = facts
  const { name } = job.metadata
  const finalizers = [names.trackingFinalizer]
  const identity = { generateName: `${name}-`, finalizers, ...(place && indexIdentity(facts, place)) }
  return { verb: 'create', resource: podsResource, object: podFromTemplate(ownerOf(job), job.spec.template, identity) }
}

const longestPrefix = 58

function indexIdentity(facts: JobFacts, { index, before }: IndexedPod) {
  const { job, names } = facts
  const [{ name }, ending, text] = [job.metadata, `-${index}-`, String(index)]
  const prefix = `${name}${ending}`
  return {
    generateName: prefix.length > longestPrefix ? `${name.slice(0, longestPrefix - ending.length)}${ending}` : prefix,
    labels: { [names.completionIndex]: text },
    annotations: { [names.completionIndex]: text, ...failureCounts(facts, before) },
    spec: { hostname: `${name}-${index}`, ...withIndexVariable(job.spec.template.spec as JsonObject, names) },
  }
}

/** Returns the annotations by which a Pod knows how often its index has failed. */
function failureCounts(
  { job, names, failedIndexes }: JobFacts,
  before: Pod | undefined,
): Readonly<Record<string, string>> {
  if (failedIndexes === undefined) return {}
  const counts = before !== undefined && isCounted(job, before)
  const failed = before === undefined ? 0 : numberIn(before, names.indexFailureCount) + (counts ? 1 : 0)
  const ignored = before === undefined ? 0 : numberIn(before, names.indexIgnoredFailureCount) + (counts ? 0 : 1)
  return {
    [names.indexFailureCount]: String(failed),
    ...(ignored > 0 ? { [names.indexIgnoredFailureCount]: String(ignored) } : {}),
  }
}

const indexVariable = 'JOB_COMPLETION_INDEX'

/** Returns the lists of containers, each with the variable of its index; an author's own variable stays. */
function withIndexVariable(spec: JsonObject, { completionIndex }: JobNames): JsonObject {
  const fieldRef = { fieldPath: `metadata.labels['${completionIndex}']` }
  const extend = (container: unknown): JsonObject => {
    const given = container as JsonObject
    const env = Array.isArray(given['env']) ? (given['env'] as readonly JsonObject[]) : []
    if (env.some((variable) => variable['name'] === indexVariable)) return given
    return { ...given, env: [...env, { name: indexVariable, valueFrom: { fieldRef } }] }
  }
  const lists = ['initContainers', 'containers'].filter((list) => Array.isArray(spec[list]))
  return Object.fromEntries(lists.map((list) => [list, (spec[list] as readonly unknown[]).map(extend)]))
}

export function deletePod(pod: Pod): Write {
  return { verb: 'delete', target: nameOf(podsResource, pod), uid: pod.metadata.uid }
}

/** Takes the tracking finalizer from a Pod: it has been counted, or is not to be. */
export function releasePod(pod: Pod, names: JobNames): Write {
  const { uid, resourceVersion, finalizers } = pod.metadata
  const left = finalizers.filter((finalizer) => finalizer !== names.trackingFinalizer)
  const metadata = { uid, resourceVersion, finalizers: left.length === 0 ? null : left }
  return { verb: 'patch', target: nameOf(podsResource, pod), patch: { metadata } }
}
