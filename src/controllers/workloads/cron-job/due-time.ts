import type { CronSchedule } from '../../../model/cron-schedule.ts'
import type { CronJob } from './shapes.ts'

/** More missed times than this are reported: a clock is wrong, or nothing ran for long. */
const manyTimes = 100
/** Clocks of machines differ a little: the next pass comes this long after the time itself. */
const paddingMs = 100

interface Missed {
  /** The last time that the CronJob is known to have handled. */
  readonly sinceMs: number
  /** The most recent time that has come since; undefined where none has. */
  readonly dueMs: number | undefined
  readonly isMany: boolean
}

/** Returns the time for which a Job is due; `too-dense` for a schedule whose times do not go on. */
export function findDueTime(cronJob: CronJob, schedule: CronSchedule, nowMs: number): Missed | 'too-dense' {
  const { startingDeadlineSeconds } = cronJob.spec
  const sinceMs = handledUntilMs(cronJob)
  const deadlineMs = startingDeadlineSeconds === undefined ? sinceMs : nowMs - startingDeadlineSeconds * 1000
  return findMissed(schedule, Math.max(sinceMs, deadlineMs), nowMs)
}

/** Returns how long the CronJob waits for its next time; undefined where there is none. */
export function nextTimeInMs(cronJob: CronJob, schedule: CronSchedule, nowMs: number): number | undefined {
  const missed = findMissed(schedule, handledUntilMs(cronJob), nowMs)
  const fromMs = missed === 'too-dense' ? nowMs : (missed.dueMs ?? missed.sinceMs)
  const nextMs = schedule.next(fromMs)
  return nextMs === undefined ? undefined : Math.max(nextMs, nowMs) + paddingMs - nowMs
}

function handledUntilMs({ metadata, status }: CronJob): number {
  return Date.parse(status.lastScheduleTime ?? metadata.creationTimestamp) || 0
}

function findMissed(schedule: CronSchedule, sinceMs: number, nowMs: number): Missed | 'too-dense' {
  const first = schedule.next(sinceMs)
  const second = first === undefined ? undefined : schedule.next(first)
  if (first === undefined || nowMs < first) return { sinceMs, dueMs: undefined, isMany: false }
  if (second === undefined || nowMs < second) return { sinceMs, dueMs: first, isMany: false }
  const stepMs = second - first
  if (stepMs < 1000) return 'too-dense'
  const count = Math.floor((nowMs - first) / stepMs) + 1
  return { sinceMs, dueMs: lastTime(schedule, first + (count - 2) * stepMs, nowMs), isMany: count > manyTimes }
}

/**
 * Returns the last time up to now, from a time that is probably a little before it: times of a schedule need not have
 * equal distances.
 */
function lastTime(schedule: CronSchedule, fromMs: number, nowMs: number): number | undefined {
  let last: number | undefined
  for (let time = schedule.next(fromMs); time !== undefined && time <= nowMs; time = schedule.next(time)) last = time
  return last
}
