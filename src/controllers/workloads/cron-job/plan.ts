import { isDeepStrictEqual } from 'node:util'
import type { EventType } from '../../../client/index.ts'
import type { ApiObject, JsonObject } from '../../../model/api-object.ts'
import { type CronSchedule, isTimeZone, parseCron } from '../../../model/cron-schedule.ts'
import type { JobNames } from '../../../model/job-names.ts'
import { controllerReference } from '../../objects/claim.ts'
import { nameOf, type Write } from '../../objects/writes.ts'
import { endOf, type Job, jobType } from '../job/shapes.ts'
import { findDueTime, nextTimeInMs } from './due-time.ts'
import { type CronJob, cronJobsResource, cronJobType, type JobReference } from './shapes.ts'

export interface CronJobView {
  readonly cronJob: CronJob
  /** The Jobs that the CronJob controls. */
  readonly jobs: readonly Job[]
  readonly names: JobNames
  readonly nowMs: number
}

export interface CronJobEvent {
  readonly type: EventType
  readonly reason: string
  readonly message: string
}

/** One pass: what to delete and to create, in this order, then the status. */
export interface CronJobPlan {
  /** The references to Jobs that run, after the deletions and before the creation. */
  readonly active: JobReference[]
  readonly lastSuccessfulTime: string | undefined
  readonly deletions: readonly Job[]
  readonly creation: { readonly job: ApiObject; readonly dueMs: number } | undefined
  readonly events: readonly CronJobEvent[]
  readonly againInMs: number | undefined
}

export function ownerOf(cronJob: CronJob): CronJob & { apiVersion: string; kind: string } {
  return { ...cronJob, apiVersion: cronJobType.apiVersion, kind: cronJobType.kind }
}

export function planCronJob(view: CronJobView): CronJobPlan {
  const { cronJob, jobs } = view
  const known = readJobs(view)
  const old = findOldJobs(cronJob, jobs)
  const start = planStart(view, known.active)
  const deletions = [...old, ...start.replaced]
  const gone = new Set(deletions.map(({ metadata }) => metadata.uid))
  return {
    active: known.active.filter(({ uid }) => !gone.has(uid)),
    lastSuccessfulTime: known.lastSuccessfulTime,
    deletions,
    creation: start.creation,
    events: [...known.events, ...start.events],
    againInMs: start.againInMs,
  }
}

const warning = (reason: string, message: string): CronJobEvent => ({ type: 'Warning', reason, message })
const normal = (reason: string, message: string): CronJobEvent => ({ type: 'Normal', reason, message })

/** Returns which Jobs of the status still run, and when a Job last succeeded. */
function readJobs({ cronJob: { status }, jobs }: CronJobView) {
  const events: CronJobEvent[] = []
  const byUid = new Map(jobs.map((job) => [job.metadata.uid, job]))
  const active = status.active.filter(({ uid, name }) => {
    const job = byUid.get(uid)
    const end = job && endOf(job)
    if (job === undefined) events.push(normal('MissingJob', `Active job went missing: ${name}`))
    if (end !== undefined) events.push(normal('SawCompletedJob', `Saw completed job: ${name}, condition: ${end.type}`))
    return job !== undefined && end === undefined
  })
  const listed = new Set(status.active.map(({ uid }) => uid))
  for (const job of jobs.filter((each) => endOf(each) === undefined && !listed.has(each.metadata.uid)))
    events.push(
      warning('UnexpectedJob', `Saw a job that the controller did not create or forgot: ${job.metadata.name}`),
    )
  const successes = jobs
    .filter((job) => endOf(job)?.type === 'Complete')
    .map(({ status: { completionTime } }) => completionTime)
  const lastSuccessfulTime = latest([status.lastSuccessfulTime, ...successes])
  return { active, events, lastSuccessfulTime }
}

function latest(times: readonly (string | undefined)[]): string | undefined {
  return times
    .filter((time) => time !== undefined)
    .reduce<string | undefined>(
      (last, time) => (last !== undefined && Date.parse(last) >= Date.parse(time) ? last : time),
      undefined,
    )
}

/** Returns the ended Jobs beyond the limits of the history, the oldest first. */
function findOldJobs({ spec }: CronJob, jobs: readonly Job[]): readonly Job[] {
  const limits = [
    ['Complete', spec.successfulJobsHistoryLimit],
    ['Failed', spec.failedJobsHistoryLimit],
  ] as const
  return limits.flatMap(([type, limit]) => {
    if (limit === undefined) return []
    const ended = jobs.filter((job) => endOf(job)?.type === type && job.metadata.deletionTimestamp === undefined)
    return ended.toSorted(byStart).slice(0, Math.max(0, ended.length - limit))
  })
}

function byStart(one: Job, other: Job): number {
  const [first, second] = [one, other].map(
    ({ status }) => Date.parse(status.startTime ?? '') || Number.MAX_SAFE_INTEGER,
  )
  return (first ?? 0) - (second ?? 0) || (one.metadata.name < other.metadata.name ? -1 : 1)
}

interface Start {
  readonly creation?: CronJobPlan['creation']
  readonly replaced: readonly Job[]
  readonly events: readonly CronJobEvent[]
  readonly againInMs?: number | undefined
}

const idle = (events: readonly CronJobEvent[] = [], againInMs?: number): Start => ({ replaced: [], events, againInMs })

function planStart(view: CronJobView, active: readonly JobReference[]): Start {
  const { cronJob, nowMs } = view
  const { schedule: text, timeZone, suspend } = cronJob.spec
  if (cronJob.metadata.deletionTimestamp !== undefined) return idle()
  if (timeZone !== undefined && !isTimeZone(timeZone))
    return idle([warning('UnknownTimeZone', `invalid timeZone: "${timeZone}": unknown time zone ${timeZone}`)])
  if (suspend) return idle()
  const schedule = parseCron(text, timeZone)
  if (typeof schedule === 'string')
    return idle([warning('UnparseableSchedule', `unparseable schedule: "${text}" : ${schedule}`)])
  const due = findDueTime(cronJob, schedule, nowMs)
  if (due === 'too-dense')
    return idle([
      warning(
        'InvalidSchedule',
        `invalid schedule: ${text} : time difference between two schedules is less than 1 second`,
      ),
    ])
  const againInMs = nextTimeInMs(cronJob, schedule, nowMs)
  if (due.dueMs === undefined) return idle([], againInMs)
  const many = warning(
    'TooManyMissedTimes',
    'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
  )
  const begun = begin(view, schedule, due.dueMs, active)
  return { ...begun, events: [...(due.isMany ? [many] : []), ...begun.events] }
}

/** Starts the Job that is due, as far as the deadline and the Jobs that run allow it. */
function begin(view: CronJobView, schedule: CronSchedule, dueMs: number, active: readonly JobReference[]): Start {
  const { cronJob, jobs, nowMs } = view
  const { startingDeadlineSeconds: deadline, concurrencyPolicy } = cronJob.spec
  const againInMs = nextTimeInMs(cronJob, schedule, nowMs)
  if (deadline !== undefined && dueMs + deadline * 1000 < nowMs)
    return idle([warning('MissSchedule', `Missed scheduled time to start a job: ${formatRfc1123(dueMs)}`)], againInMs)
  const name = jobName(cronJob, dueMs)
  const isStarted =
    active.some((each) => each.name === name) || Date.parse(cronJob.status.lastScheduleTime ?? '') === dueMs
  if (isStarted) return idle([], againInMs)
  if (concurrencyPolicy === 'Forbid' && active.length > 0) {
    const why = 'Not starting job because prior execution is running and concurrency policy is Forbid'
    return idle([normal('JobAlreadyActive', why)], againInMs)
  }
  const running = new Set(active.map(({ uid }) => uid))
  const replaced = concurrencyPolicy === 'Replace' ? jobs.filter(({ metadata }) => running.has(metadata.uid)) : []
  return { creation: { job: makeJob(view, name, dueMs), dueMs }, replaced, events: [], againInMs }
}

function formatRfc1123(timeMs: number): string {
  return new Date(timeMs).toUTCString().replace('GMT', '+0000')
}

/** Returns the name of the Job of a time; it is the same for every controller, so no time gets two Jobs. */
function jobName({ metadata }: CronJob, dueMs: number): string {
  return `${metadata.name}-${Math.floor(dueMs / 60_000)}`
}

function makeJob({ cronJob, names }: CronJobView, name: string, dueMs: number): ApiObject {
  const { metadata, spec } = cronJob.spec.jobTemplate
  const time = Temporal.Instant.fromEpochMilliseconds(dueMs).toZonedDateTimeISO(cronJob.spec.timeZone ?? 'UTC')
  const offset = time.offset === '+00:00' ? 'Z' : time.offset
  const scheduled = `${time.toPlainDateTime().toString({ smallestUnit: 'second' })}${offset}`
  const object = {
    apiVersion: jobType.apiVersion,
    kind: jobType.kind,
    metadata: {
      name,
      namespace: cronJob.metadata.namespace,
      ...(Object.keys(metadata.labels).length === 0 ? {} : { labels: metadata.labels }),
      annotations: { ...metadata.annotations, [names.scheduledTimestamp]: scheduled },
      ownerReferences: [controllerReference(ownerOf(cronJob))],
    },
    spec,
  }
  return object as unknown as ApiObject
}

/** Returns the write of a changed status; undefined where it is as it should be. */
export function planCronJobStatus(
  { metadata, status }: CronJob,
  next: Pick<CronJob['status'], 'active' | 'lastScheduleTime' | 'lastSuccessfulTime'>,
): Write | undefined {
  if (isDeepStrictEqual(status, { ...status, ...next })) return undefined
  const { uid, resourceVersion } = metadata
  const { active, lastScheduleTime = null, lastSuccessfulTime = null } = next
  const references = active.length === 0 ? null : (active as unknown as readonly JsonObject[])
  const patch = {
    metadata: { uid, resourceVersion },
    status: { active: references, lastScheduleTime, lastSuccessfulTime },
  }
  return { verb: 'patch', target: nameOf(cronJobsResource, { metadata }), patch, subresource: 'status' }
}

/** Returns the reference to a Job as the status names it. */
export function referenceTo({ metadata }: { readonly metadata: Job['metadata'] }): JobReference {
  const { name, namespace = '', uid, resourceVersion } = metadata
  return { apiVersion: jobType.apiVersion, kind: jobType.kind, name, namespace, uid, resourceVersion }
}
