import type { JobNames } from '../../../model/job-names.ts'
import { claimChildren, isOwnedBy } from '../../objects/claim.ts'
import type { Pod } from '../../objects/pod.ts'
import { podsResource, type Write } from '../../objects/writes.ts'
import type { FailureStreak } from './backoff.ts'
import { deadlineInMs, findCompletion, findEnd, type JobEnd } from './end.ts'
import { deletePod, ownerOf, planRunningPods, releasePod } from './plan-pods.ts'
import { isRecorded, planStatus, recordOf, stayingPods } from './plan-status.ts'
import { gatherFacts, isTracked, type JobFacts } from './pods.ts'
import { endOf, type Job } from './shapes.ts'

export interface JobView {
  readonly job: Job
  /** The Pods of the Job, and orphans that it may adopt. */
  readonly pods: readonly Pod[]
  readonly names: JobNames
  readonly nowMs: number
}

/** Checks whether the controller has nothing to do with a Job: it has ended, or another program manages it. */
export function isLeftAlone(job: Job, { controllerName }: JobNames): boolean {
  const { managedBy = controllerName } = job.spec
  return managedBy !== controllerName || endOf(job) !== undefined
}

interface PodsPlan {
  readonly writes: readonly Write[]
  readonly againInMs?: number | undefined
}

/**
 * Plans the Pods of a Job: lets go of Pods that the status has counted, ends all where the Job ends, and else creates
 * missing ones and deletes surplus ones. Adoptions are made alone; the next pass counts the adopted Pods.
 */
export function planPods({ job, pods, names, nowMs }: JobView, streak: FailureStreak): PodsPlan {
  const adoptions = planClaims(job, pods, names)
  if (adoptions.writes.length > 0) return { writes: adoptions.writes }
  const facts = gatherFacts(job, adoptions.mine, names)
  const end = findEnd(facts, nowMs) ?? findCompletion(facts)
  const releases = planReleases(facts, end)
  if (end !== undefined) return { writes: [...releases, ...facts.active.map(deletePod)] }
  if (job.metadata.deletionTimestamp !== undefined) return { writes: releases }
  const { writes, againInMs } = planRunningPods(facts, streak, nowMs)
  return { writes: [...releases, ...writes], againInMs: soonest(againInMs, deadlineInMs(job, nowMs)) }
}

/** Plans the status, after the Pods are as planned. */
export function planJobStatus({ job, pods, names, nowMs }: JobView): ReturnType<typeof planStatus> {
  const mine = planClaims(job, pods, names).mine
  const facts = gatherFacts(job, mine, names)
  return planStatus(facts, findEnd(facts, nowMs) ?? findCompletion(facts), nowMs)
}

/** Plans adoptions and releases by the selector. An adopted Pod gets the tracking finalizer with its owner. */
function planClaims(job: Job, pods: readonly Pod[], { trackingFinalizer }: JobNames) {
  const { mine, writes } = claimChildren(ownerOf(job), job.spec.selector, podsResource, pods)
  const owned = mine.filter((pod) => isOwnedBy(pod, job))
  const adopted = new Map(mine.filter((pod) => !isOwnedBy(pod, job)).map((pod) => [pod.metadata.name, pod]))
  const tracking = writes.map((write): Write => {
    const pod = write.verb === 'patch' ? adopted.get(write.target.name) : undefined
    if (write.verb !== 'patch' || pod === undefined) return write
    const finalizers = [...new Set([...pod.metadata.finalizers, trackingFinalizer])]
    return { ...write, patch: { ...write.patch, metadata: { ...(write.patch['metadata'] as object), finalizers } } }
  })
  return { mine: owned, writes: tracking }
}

/** Takes the finalizer from the Pods whose end the stored status has. */
function planReleases(facts: JobFacts, end: JobEnd | undefined): readonly Write[] {
  if (end?.isRecorded === false) return []
  const stays = stayingPods(facts)
  return facts.pods
    .filter((pod) => isTracked(pod, facts.names) && isRecorded(pod, recordOf(pod, facts, end, stays), facts))
    .map((pod) => releasePod(pod, facts.names))
}

function soonest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
