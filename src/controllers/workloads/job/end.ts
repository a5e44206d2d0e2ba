import { findCondition } from '../../objects/conditions.ts'
import type { Pod } from '../../objects/pod.ts'
import { matchFailurePolicy } from './failure-policy.ts'
import { countCommon, countOf, type Intervals, parseIntervals } from './intervals.ts'
import { isFailed, type JobFacts } from './pods.ts'
import { isIndexed, type Job, type SuccessRule } from './shapes.ts'

/** The reason for the end of a Job. Its status first says so (`FailureTarget`, `SuccessCriteriaMet`), and later that it has ended. */
export interface JobEnd {
  readonly isSuccess: boolean
  readonly reason: string
  readonly message: string
  /** Whether the status says it already. */
  readonly isRecorded: boolean
}

const success = (reason: string, message: string): JobEnd => ({ isSuccess: true, reason, message, isRecorded: false })
const failure = (reason: string, message: string): JobEnd => ({ isSuccess: false, reason, message, isRecorded: false })

/** Returns why a Job ends, whether or not Pods of it are running; undefined while it goes on. */
export function findEnd(facts: JobFacts, nowMs: number): JobEnd | undefined {
  return (
    recordedEnd(facts.job) ??
    failureByPolicy(facts) ??
    failureByLimit(facts, nowMs) ??
    failureByIndexes(facts) ??
    successByPolicy(facts)
  )
}

/** Returns the success of a Job that has all its completions and no Pod left that runs. */
export function findCompletion({ job, succeeded, active }: JobFacts): JobEnd | undefined {
  const { completions } = job.spec
  const isReached = completions === undefined ? succeeded > 0 : succeeded >= completions
  if (!isReached || active.length > 0) return undefined
  return success('CompletionsReached', 'Reached expected number of succeeded pods')
}

function recordedEnd({ status }: Job): JobEnd | undefined {
  for (const [type, isSuccess] of [
    ['SuccessCriteriaMet', true],
    ['FailureTarget', false],
  ] as const) {
    const found = findCondition(status.conditions, type)
    if (found?.status === 'True') return { isSuccess, reason: found.reason, message: found.message, isRecorded: true }
  }
  return undefined
}

function failureByPolicy({ job, pods }: JobFacts): JobEnd | undefined {
  if (job.spec.podFailurePolicy === undefined) return undefined
  for (const pod of pods.filter((each) => isFailed(each, job))) {
    const verdict = matchFailurePolicy(job, pod)
    if (verdict?.action === 'FailJob') return failure('PodFailurePolicy', verdict.message)
  }
  return undefined
}

function failureByLimit({ job, pods, failed }: JobFacts, nowMs: number): JobEnd | undefined {
  if (failed > job.spec.backoffLimit || restartsTooOften(job, pods))
    return failure('BackoffLimitExceeded', 'Job has reached the specified backoff limit')
  const leftMs = deadlineInMs(job, nowMs)
  if (leftMs === undefined || leftMs > 0) return undefined
  return failure('DeadlineExceeded', 'Job was active longer than specified deadline')
}

/** Returns the time until the deadline of a Job; undefined for a Job that has none or does not run. */
export function deadlineInMs({ spec, status }: Job, nowMs: number): number | undefined {
  if (spec.activeDeadlineSeconds === undefined || status.startTime === undefined || spec.suspend) return undefined
  return Date.parse(status.startTime) + spec.activeDeadlineSeconds * 1000 - nowMs
}

/** Checks the restarts of containers in Pods that start them again themselves. */
function restartsTooOften({ spec }: Job, pods: readonly Pod[]): boolean {
  if ((spec.template.spec as { readonly restartPolicy?: unknown }).restartPolicy !== 'OnFailure') return false
  let restarts = 0
  for (const { status } of pods.filter((pod) => ['Running', 'Pending'].includes(pod.status.phase)))
    for (const { restartCount } of [...status.containerStatuses, ...status.initContainerStatuses])
      restarts += restartCount
  return spec.backoffLimit === 0 ? restarts > 0 : restarts >= spec.backoffLimit
}

function failureByIndexes({ job, failedIndexes, succeededIndexes }: JobFacts): JobEnd | undefined {
  const { maxFailedIndexes, completions = 0 } = job.spec
  const failed = countOf(failedIndexes ?? [])
  if (maxFailedIndexes !== undefined && failed > maxFailedIndexes)
    return failure('MaxFailedIndexesExceeded', 'Job has exceeded the specified maximal number of failed indexes')
  if (failed === 0 || failed + countOf(succeededIndexes) < completions) return undefined
  return failure('FailedIndexes', 'Job has failed indexes')
}

function successByPolicy({ job, succeededIndexes }: JobFacts): JobEnd | undefined {
  const rules = job.spec.successPolicy?.rules ?? []
  if (!isIndexed(job) || succeededIndexes.length === 0) return undefined
  const index = rules.findIndex((rule) => isMet(rule, succeededIndexes, job.spec.completions ?? 0))
  return index < 0 ? undefined : success('SuccessPolicy', `Matched rules at index ${index}`)
}

function isMet({ succeededIndexes, succeededCount }: SuccessRule, done: Intervals, completions: number): boolean {
  if (succeededIndexes === undefined) return succeededCount !== undefined && countOf(done) >= succeededCount
  const wanted = parseIntervals(succeededIndexes, completions)
  const met = countCommon(wanted, done)
  if (wanted.length === 0) return false
  return met === countOf(wanted) || (succeededCount !== undefined && met >= succeededCount)
}
