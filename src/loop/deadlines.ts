/** A job that may take too long. */
export interface TimedJob {
  /** When it is late, by `performance.now()`; set by `Deadlines`. */
  deadlineMs: number
  /** Called once if the job was not removed in time. */
  onLate(): void
}

/**
 * Watches many jobs of a few durations, most of which end early: one timer for all jobs of a duration instead of one timer each. A job is late by
 * up to 1 ms more than its duration.
 */
export class Deadlines {
  readonly #queues = new Map<number, DeadlineQueue>()

  add(job: TimedJob, durationMs: number): void {
    const queue = this.#queues.get(durationMs) ?? new DeadlineQueue(durationMs)
    this.#queues.set(durationMs, queue)
    queue.add(job)
  }

  remove(job: TimedJob, durationMs: number): void {
    this.#queues.get(durationMs)?.remove(job)
  }
}

/** Jobs of one duration, so that the order in which they came is the order of their deadlines. */
class DeadlineQueue {
  readonly #durationMs: number
  readonly #jobs = new Set<TimedJob>()
  #timer: NodeJS.Timeout | undefined

  constructor(durationMs: number) {
    this.#durationMs = durationMs
  }

  add(job: TimedJob): void {
    job.deadlineMs = performance.now() + this.#durationMs
    this.#jobs.add(job)
    this.#timer ??= this.#wait(this.#durationMs)
  }

  remove(job: TimedJob): void {
    this.#jobs.delete(job)
  }

  #wait(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), Math.ceil(ms)).unref()
  }

  #look(): void {
    for (const job of this.#jobs) {
      const leftMs = job.deadlineMs - performance.now()
      if (leftMs > 0) {
        this.#timer = this.#wait(leftMs)
        return
      }
      this.#jobs.delete(job)
      job.onLate()
    }
    // Last: the loop above finds a job that onLate adds, which must not start a timer of its own.
    this.#timer = undefined
  }
}
