import type { Component } from '../../../loop/component.ts'
import type { BaseContext } from '../../base-context.ts'
import { applyWrites, type WriteTarget } from '../../objects/apply-writes.ts'
import { podType } from '../../objects/types.ts'
import { noted, writeTarget } from '../../objects/write-target.ts'
import { groupComponents } from '../../runtime/component-group.ts'
import { Controller, watchKeys } from '../../runtime/controller.ts'
import { type CachedObject, keyOf } from '../../runtime/resource-type.ts'
import { restAfterPass } from '../../runtime/work-queue.ts'
import { eventOfWrite } from '../events.ts'
import { Children, ownersOf } from '../relations.ts'
import { extendStreak, type FailureStreak, noStreak } from './backoff.ts'
import { createJobOrphanController } from './orphan-controller.ts'
import { isLeftAlone, planJobStatus, planPods } from './plan.ts'
import { ownerOf } from './plan-pods.ts'
import { type Job, jobType } from './shapes.ts'

const written = [podType, jobType].map((type) => noted<CachedObject>(type))

/**
 * Creates the controller of Jobs. Each pass first acts on the Pods, then looks at them again and writes the status, also
 * where an action failed: the error of a quota must not hide the state of a Job.
 */
export function createJobController(kit: BaseContext): Component {
  return groupComponents('job', [createTracker(kit), createJobOrphanController(kit)])
}

function createTracker(kit: BaseContext): Component {
  const { caches, client, metrics, log, dialect } = kit
  const [jobs, pods] = [caches.of(jobType), caches.of(podType)]
  const children = new Children(pods)
  const target = writeTarget(client, caches, written)
  /** The failures in a row, by the key of the Job; a new leader begins with none, as in Kubernetes. */
  const streaks = new Map<string, { readonly uid: string; readonly streak: FailureStreak }>()
  const viewOf = (job: Job) => ({ job, pods: children.candidatesFor(job), names: dialect.jobs, nowMs: Date.now() })

  const act = async (job: Job, signal: AbortSignal) => {
    const [view, key, { uid }] = [viewOf(job), keyOf(job), job.metadata]
    const known = streaks.get(key)
    const before = known?.uid === uid ? known.streak : noStreak
    const streak = extendStreak(before, job, children.ownedBy(job), dialect.jobs)
    streaks.set(key, { uid, streak })
    const { writes, againInMs } = planPods(view, streak)
    const failure = await attempt(() => applyWrites({ ...target, onOutcome: recorder(kit, job) }, writes, signal))
    return { failure, againInMs }
  }
  const report = async (key: string, signal: AbortSignal) => {
    const job = jobs.get(key)
    if (job === undefined) return
    const { write, events } = planJobStatus(viewOf(job))
    if (write !== undefined) await applyWrites(target, [write], signal)
    for (const { type, reason, message } of events) kit.events.record(ownerOf(job), type, reason, message)
  }

  return new Controller({
    name: 'job',
    watches: [watchKeys(jobs, (job) => [keyOf(job)]), watchKeys(pods, ownersOf(jobType, jobs))],
    reconcile: async (key, { signal }) => {
      const job = jobs.get(key)
      if (job === undefined || isLeftAlone(job, dialect.jobs)) {
        streaks.delete(key)
        return undefined
      }
      const { failure, againInMs } = await act(job, signal)
      await report(key, signal)
      if (failure !== undefined) throw failure.error
      return { againInMs }
    },
    rest: restAfterPass,
    metrics,
    log: log.child('job'),
  })
}

async function attempt(work: () => Promise<void>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    return { error }
  }
}

function recorder(kit: BaseContext, job: Job): NonNullable<WriteTarget['onOutcome']> {
  const subject = ownerOf(job)
  return (write, outcome) => {
    const event = eventOfWrite(subject, write, outcome)
    if (event !== undefined) kit.events.record(subject, event.type, event.reason, event.message)
  }
}
