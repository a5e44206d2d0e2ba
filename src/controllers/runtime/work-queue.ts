import { Backoff } from '../../loop/backoff.ts'
import { orAborted } from '../../loop/deadline.ts'
import type { QueueMetrics, QueueState } from './metrics.ts'
import { TokenBucket } from './token-bucket.ts'

export type WorkResult = WorkReport | undefined

interface WorkReport {
  /** The work succeeded, and the key is added again after this time. */
  readonly againInMs?: number | undefined
  /** How long the work used the processor, which determines the pause. Absent: the whole time of the work. */
  readonly busyMs?: number
}

export type Work = (key: string, scope: { signal: AbortSignal }) => Promise<WorkResult>

export interface QueueTiming {
  readonly backoffBaseMs: number
  readonly backoffMaxMs: number
  /** The retry rate over all keys. */
  readonly retriesPerSecond: number
  readonly retryBurst: number
}

const defaultTiming: QueueTiming = { backoffBaseMs: 20, backoffMaxMs: 60_000, retriesPerSecond: 50, retryBurst: 500 }

/**
 * The pause of a key after its work: `factor` times the duration of the work, at most `maxMs`. Changes that arrive
 * during the pause are handled by one pass.
 */
export interface Rest {
  readonly factor: number
  readonly maxMs: number
}

/**
 * The pause for passes that read all objects of a key. After a quiet period the first change is handled at once. Under
 * many changes in a row, passes take a third of the time, and each handles all changes since the last one.
 */
export const restAfterPass: Rest = { factor: 2, maxMs: 1_000 }

/** A shorter pause is skipped, because few changes would arrive in it. */
const shortestRestMs = 10

export interface WorkQueueOptions {
  readonly workers: number
  /** The pause after each pass. Absent: a key that was added during its work is worked on again at once. */
  readonly rest?: Rest
  readonly work: Work
  /** Called at each failure, before the retry of the key is scheduled. */
  readonly onFailure: (key: string, error: unknown, retryInMs: number) => void
  readonly createMetrics: (state: QueueState) => QueueMetrics
  readonly timing?: Partial<QueueTiming>
}

/**
 * A queue of unique keys with workers. No key is worked on twice at the same time; a key that is added during its work
 * is worked on again, after its pause if there is one. A failed key is retried with a growing delay of its own. A
 * stopped queue accepts no keys and cannot be started again.
 */
export class WorkQueue implements QueueState {
  readonly #options: WorkQueueOptions
  readonly #timing: QueueTiming
  readonly #metrics: QueueMetrics
  readonly #bucket: TokenBucket
  readonly #stopping = new AbortController()
  readonly #running = new AbortController()
  /** The time since when a key waits, by key; the oldest is worked on first. */
  readonly #waiting = new Map<string, number>()
  /** The time since when a key is being worked on, by key. */
  readonly #working = new Map<string, number>()
  readonly #runs = new Set<Promise<void>>()
  /** The timer at which the pause of a key ends, by key. */
  readonly #resting = new Map<string, NodeJS.Timeout>()
  /** The keys that were added during their work or pause. */
  readonly #addedMeanwhile = new Set<string>()
  readonly #timers = new Map<string, { readonly dueMs: number; readonly timer: NodeJS.Timeout }>()
  readonly #backoffs = new Map<string, Backoff>()
  #isPumpDue = false

  constructor(options: WorkQueueOptions) {
    this.#options = options
    this.#timing = { ...defaultTiming, ...options.timing }
    this.#metrics = options.createMetrics(this)
    const { retriesPerSecond, retryBurst } = this.#timing
    this.#bucket = new TokenBucket({ perSecond: retriesPerSecond, burst: retryBurst })
  }

  /** Adds a key; this ends its delay. The work begins after the current turn of the event loop. */
  add(key: string): void {
    if (this.#stopping.signal.aborted) return
    this.#metrics.countAdd()
    if (this.#working.has(key) || this.#resting.has(key)) this.#addedMeanwhile.add(key)
    else this.#wait(key)
  }

  /** Adds a key after a delay; if it has a delay already, the earlier one applies. */
  addAfter(key: string, delayMs: number): void {
    if (this.#stopping.signal.aborted) return
    const dueMs = performance.now() + delayMs
    const current = this.#timers.get(key)
    if (current !== undefined && current.dueMs <= dueMs) return
    this.#endDelay(key)
    this.#timers.set(key, { dueMs, timer: setTimeout(() => this.add(key), delayMs) })
  }

  /** Resets the failures of a key: the next one counts as its first. */
  forget(key: string): void {
    this.#backoffs.delete(key)
  }

  depth(): number {
    return this.#waiting.size
  }

  unfinishedMs(): readonly number[] {
    const nowMs = performance.now()
    return Array.from(this.#working.values(), (sinceMs) => nowMs - sinceMs)
  }

  /** The number of keys whose last attempt failed. */
  get failing(): number {
    return this.#backoffs.size
  }

  /** True if no key waits, is being worked on, or has a delay. */
  get isIdle(): boolean {
    return this.#waiting.size + this.#working.size + this.#timers.size + this.#addedMeanwhile.size === 0
  }

  /** Drops waiting keys and waits for work in progress. When the signal aborts, the signal of that work aborts too. */
  async stop({ signal }: { signal: AbortSignal }): Promise<void> {
    this.#stopping.abort()
    for (const key of [...this.#timers.keys()]) this.#endDelay(key)
    for (const timer of this.#resting.values()) clearTimeout(timer)
    this.#waiting.clear()
    const abortWork = () => this.#running.abort(signal.reason)
    if (signal.aborted) abortWork()
    signal.addEventListener('abort', abortWork, { once: true })
    const running = Promise.all(this.#runs)
    await orAborted(running, signal)
      .catch(() => {})
      .finally(() => signal.removeEventListener('abort', abortWork))
  }

  #wait(key: string): void {
    if (this.#stopping.signal.aborted) return
    this.#endDelay(key)
    if (!this.#waiting.has(key)) this.#waiting.set(key, performance.now())
    this.#pumpSoon()
  }

  #endDelay(key: string): void {
    clearTimeout(this.#timers.get(key)?.timer)
    this.#timers.delete(key)
  }

  #pumpSoon(): void {
    if (this.#isPumpDue) return
    this.#isPumpDue = true
    setImmediate(() => {
      this.#isPumpDue = false
      this.#pump()
    })
  }

  #pump(): void {
    for (const [key, sinceMs] of this.#waiting) {
      if (this.#working.size >= this.#options.workers) return
      this.#waiting.delete(key)
      this.#metrics.observeWait(performance.now() - sinceMs)
      this.#working.set(key, performance.now())
      const run = this.#workOn(key)
      this.#runs.add(run)
      void run.finally(() => this.#runs.delete(run))
    }
  }

  async #workOn(key: string): Promise<void> {
    const startedMs = performance.now()
    let report: WorkResult
    try {
      report = await this.#options.work(key, { signal: this.#running.signal })
      this.forget(key)
      if (report?.againInMs !== undefined) this.addAfter(key, report.againInMs)
    } catch (error) {
      this.#retry(key, error)
    }
    const tookMs = performance.now() - startedMs
    this.#metrics.observeWork(tookMs)
    this.#working.delete(key)
    this.#rest(key, report?.busyMs ?? tookMs)
    this.#pumpSoon()
  }

  #rest(key: string, busyMs: number): void {
    const { factor, maxMs } = this.#options.rest ?? { factor: 0, maxMs: 0 }
    const restMs = Math.min(factor * busyMs, maxMs)
    if (restMs < shortestRestMs || this.#stopping.signal.aborted) this.#endRest(key)
    else
      this.#resting.set(
        key,
        setTimeout(() => this.#endRest(key), restMs),
      )
  }

  #endRest(key: string): void {
    this.#resting.delete(key)
    if (this.#addedMeanwhile.delete(key)) this.#wait(key)
  }

  #retry(key: string, error: unknown): void {
    if (this.#stopping.signal.aborted) return
    const { backoffBaseMs, backoffMaxMs } = this.#timing
    const backoff = this.#backoffs.get(key) ?? new Backoff({ baseMs: backoffBaseMs, maxMs: backoffMaxMs })
    this.#backoffs.set(key, backoff)
    const delayMs = Math.max(backoff.nextDelayMs(), this.#bucket.reserve())
    this.#metrics.countRetry()
    this.#options.onFailure(key, error, delayMs)
    this.addAfter(key, delayMs)
  }
}
