/** A job that may take too long. */
export interface TimedJob {
  /** When it is late, by `performance.now()`; set by `Deadlines`. */
  deadlineMs: number
  /** The jobs before and after it in its queue; set by `Deadlines`. */
  earlier?: TimedJob | undefined
  later?: TimedJob | undefined
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

/**
 * Jobs of one duration, so that the order in which they came is the order of their deadlines. They are linked to each other: a set would leave
 * garbage for thousands of jobs a second.
 */
class DeadlineQueue {
  readonly #durationMs: number
  #first: TimedJob | undefined
  #last: TimedJob | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(durationMs: number) {
    this.#durationMs = durationMs
  }

  add(job: TimedJob): void {
    job.deadlineMs = performance.now() + this.#durationMs
    job.earlier = this.#last
    if (this.#last === undefined) this.#first = job
    else this.#last.later = job
    this.#last = job
    this.#timer ??= this.#wait(this.#durationMs)
  }

  /** Does nothing for a job that is not in the queue. */
  remove(job: TimedJob): void {
    const { earlier, later } = job
    if (earlier === undefined && this.#first !== job) return
    if (earlier === undefined) this.#first = later
    else earlier.later = later
    if (later === undefined) this.#last = earlier
    else later.earlier = earlier
    job.earlier = undefined
    job.later = undefined
  }

  #wait(ms: number): NodeJS.Timeout {
    return setTimeout(() => this.#look(), Math.ceil(ms)).unref()
  }

  #look(): void {
    for (let job = this.#first; job !== undefined; job = this.#first) {
      const leftMs = job.deadlineMs - performance.now()
      if (leftMs > 0) {
        this.#timer = this.#wait(leftMs)
        return
      }
      this.remove(job)
      job.onLate()
    }
    // Last: the loop above finds a job that onLate adds, which must not start a timer of its own.
    this.#timer = undefined
  }
}
