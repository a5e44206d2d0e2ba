import { ApiError } from '../../../client/index.ts'
import type { Component } from '../../../loop/component.ts'
import { formatTime } from '../../../model/api-object.ts'
import { describeError } from '../../../model/errors.ts'
import type { BaseContext } from '../../base-context.ts'
import { applyWrites } from '../../objects/apply-writes.ts'
import { controllerOf } from '../../objects/claim.ts'
import { noted, writeTarget } from '../../objects/write-target.ts'
import { nameOf } from '../../objects/writes.ts'
import { Controller, watchKeys } from '../../runtime/controller.ts'
import { keyOf } from '../../runtime/resource-type.ts'
import { type Job, jobSchema, jobsResource, jobType } from '../job/shapes.ts'
import { Children } from '../relations.ts'
import { type CronJobEvent, type CronJobPlan, ownerOf, planCronJob, planCronJobStatus, referenceTo } from './plan.ts'
import { type CronJob, cronJobType } from './shapes.ts'

/** The clock may be set meanwhile, and a timer cannot wait longer than 24 days. */
const longestWaitMs = 3_600_000

/** Creates the controller of CronJobs: it makes their Jobs and keeps their history. */
export function createCronJobController(kit: BaseContext): Component {
  const { caches, client, metrics, log, dialect } = kit
  const [cronJobs, jobs] = [caches.of(cronJobType), caches.of(jobType)]
  const children = new Children(jobs)
  const isMine = (job: Job, cronJob: CronJob) => controllerOf(job)?.uid === cronJob.metadata.uid
  return new Controller({
    name: 'cronjob',
    watches: [watchKeys(cronJobs, (cronJob) => [keyOf(cronJob)]), watchKeys(jobs, cronJobKeys)],
    reconcile: async (key, { signal }) => {
      const cronJob = cronJobs.get(key)
      if (cronJob === undefined) return undefined
      const mine = children.ownedBy(cronJob).filter((job) => isMine(job, cronJob))
      const plan = planCronJob({ cronJob, jobs: mine, names: dialect.jobs, nowMs: Date.now() })
      const note = noter(kit, cronJob)
      for (const event of plan.events) note(event)
      const started = await carryOut(kit, cronJob, plan, signal)
      const target = writeTarget(client, caches, [noted(cronJobType)])
      const write = planCronJobStatus(cronJob, started.status)
      if (write !== undefined) await applyWrites(target, [write], signal)
      if (started.failure !== undefined) throw started.failure
      return { againInMs: plan.againInMs && Math.min(plan.againInMs, longestWaitMs) }
    },
    metrics,
    log: log.child('cronjob'),
  })
}

function cronJobKeys(job: Job): readonly string[] {
  const controller = controllerOf(job)
  return controller?.kind === cronJobType.kind ? [`${job.metadata.namespace}/${controller.name}`] : []
}

function noter({ events }: BaseContext, cronJob: CronJob) {
  const subject = ownerOf(cronJob)
  return ({ type, reason, message }: CronJobEvent) => events.record(subject, type, reason, message)
}

interface Outcome {
  readonly status: Pick<CronJob['status'], 'active' | 'lastScheduleTime' | 'lastSuccessfulTime'>
  readonly failure?: unknown
}

/** Deletes Jobs, then creates the one that is due. A failure does not keep the rest of the status from being written. */
async function carryOut(kit: BaseContext, cronJob: CronJob, plan: CronJobPlan, signal: AbortSignal): Promise<Outcome> {
  const { active, lastSuccessfulTime } = plan
  const before = { active, lastSuccessfulTime, lastScheduleTime: cronJob.status.lastScheduleTime }
  try {
    for (const job of plan.deletions) await deleteJob(kit, cronJob, job, signal)
    if (plan.creation === undefined) return { status: before }
    const job = await startJob(kit, cronJob, plan.creation, signal)
    if (job === undefined) return { status: before }
    const lastScheduleTime = formatTime(plan.creation.dueMs)
    return { status: { active: [...active, referenceTo(job)], lastSuccessfulTime, lastScheduleTime } }
  } catch (failure) {
    return { status: before, failure }
  }
}

async function deleteJob(kit: BaseContext, cronJob: CronJob, job: Job, signal: AbortSignal): Promise<void> {
  const note = noter(kit, cronJob)
  const target = writeTarget(kit.client, kit.caches, [])
  const { uid, name } = job.metadata
  try {
    await applyWrites(
      target,
      [{ verb: 'delete', target: nameOf(jobsResource, job), uid, propagation: 'Background' }],
      signal,
    )
  } catch (error) {
    note({ type: 'Warning', reason: 'FailedDelete', message: `Deleted job: ${describeError(error)}` })
    throw error
  }
  note({ type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted job ${name}` })
}

/** Creates the Job. Returns the one that an earlier pass created without noting it; undefined for one of others, and where the namespace is being deleted. */
async function startJob(
  kit: BaseContext,
  cronJob: CronJob,
  { job }: NonNullable<CronJobPlan['creation']>,
  signal: AbortSignal,
): Promise<Job | undefined> {
  const note = noter(kit, cronJob)
  try {
    const { metadata, spec } = job
    const made = await kit.caches.writer(jobType).create({ ...metadata }, { spec }, signal)
    if (made !== undefined)
      note({ type: 'Normal', reason: 'SuccessfulCreate', message: `Created job ${made.metadata.name}` })
    return made
  } catch (error) {
    if (error instanceof ApiError && error.code === 'already-exists')
      return findOwn(kit, cronJob, job.metadata.name, signal)
    note({ type: 'Warning', reason: 'FailedCreate', message: `Error creating job: ${describeError(error)}` })
    throw error
  }
}

async function findOwn(
  kit: BaseContext,
  cronJob: CronJob,
  name: string,
  signal: AbortSignal,
): Promise<Job | undefined> {
  const { namespace = '' } = cronJob.metadata
  const found = jobSchema.parse(await kit.client.get({ resource: jobsResource, namespace, name }, { signal }))
  return controllerOf(found)?.uid === cronJob.metadata.uid ? found : undefined
}
