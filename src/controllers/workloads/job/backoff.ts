import type { JobNames } from '../../../model/job-names.ts'
import type { Pod } from '../../objects/pod.ts'
import { endedMs, isFailed, isInRange, isTracked } from './pods.ts'
import type { Job } from './shapes.ts'

/** The failures of a Job in a row: its next Pod waits longer after each. */
export interface FailureStreak {
  readonly failures: number
  readonly lastFailureMs: number
  /** The uids of the Pods that the streak knows. */
  readonly known: ReadonlySet<string>
}

export const noStreak: FailureStreak = { failures: 0, lastFailureMs: 0, known: new Set() }

const firstDelayMs = 10_000
const longestDelayMs = 600_000

/** Returns the streak with the Pods that have ended since: a success ends it, later failures begin the next one. */
export function extendStreak(streak: FailureStreak, job: Job, pods: readonly Pod[], names: JobNames): FailureStreak {
  const { succeeded, failed } = job.status.uncountedTerminatedPods
  const counted = new Set([...succeeded, ...failed])
  const candidates = pods.filter((pod) => isTracked(pod, names) && isInRange(pod, job, names))
  const isNew = ({ metadata: { uid } }: Pod) => !streak.known.has(uid) && !counted.has(uid)
  const successes = candidates.filter((pod) => isNew(pod) && pod.status.phase === 'Succeeded').map(endedMs)
  const failures = candidates.filter((pod) => isNew(pod) && isFailed(pod, job)).map(endedMs)
  const ended = candidates.filter((pod) => pod.status.phase === 'Succeeded' || isFailed(pod, job))
  const known = new Set(ended.map(({ metadata }) => metadata.uid))
  if (successes.length + failures.length === 0) return { ...streak, known }
  const since = successes.length === 0 ? failures : failures.filter((time) => time > Math.max(...successes))
  const before = successes.length === 0 ? streak.failures : 0
  const lastFailureMs = since.length === 0 ? 0 : Math.max(...since)
  return { failures: before + since.length, lastFailureMs, known }
}

/** Returns how long the next Pod still waits after failures in a row: 10 s, doubled with each, at most 10 minutes. */
export function waitAfterFailures(failures: number, lastFailureMs: number, nowMs: number): number {
  if (failures === 0) return 0
  const delayMs = Math.min(firstDelayMs * 2 ** Math.min(failures - 1, 10), longestDelayMs)
  return Math.max(0, lastFailureMs + delayMs - nowMs)
}
