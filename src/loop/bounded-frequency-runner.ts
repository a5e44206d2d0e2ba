import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Backoff } from './backoff.ts'
import { orAborted } from './deadline.ts'

/** The signal aborts when the deadline of `stop` passes while the job still runs. */
export type Job = (scope: { signal: AbortSignal }) => Promise<void>

export interface BoundedFrequencyOptions {
  readonly backoff: Backoff
  /**
   * The minimum time between the starts of two runs, within the millisecond of timers. A function receives the duration of the last
   * run. An urgent request does not wait for it.
   */
  readonly minGapMs?: number | ((lastRunMs: number) => number)
  readonly onError: (error: unknown, retryInMs: number) => void
  /** A run that takes longer is stuck; `stuckAfterMs` if absent. */
  readonly stuckAfterMs?: number
}

/** More than all programs of one run may take: each has a deadline of its own. */
const stuckAfterMs = 300_000

/**
 * Runs a job at most once at a time. A run serves all requests made before its start; a request during a run causes one more run
 * after it. A failed run is retried with backoff, and requests made meanwhile wait for the retry.
 */
export class BoundedFrequencyRunner {
  readonly #job: Job
  readonly #options: BoundedFrequencyOptions
  readonly #waiting = new AbortController()
  readonly #running = new AbortController()
  #requested = false
  #urgent = false
  #hurry = new AbortController()
  #loop: Promise<void> | undefined
  #lastStartMs = Number.NEGATIVE_INFINITY
  #lastRunMs = 0
  #runningSinceMs: number | undefined

  constructor(job: Job, options: BoundedFrequencyOptions) {
    this.#job = job
    this.#options = options
  }

  /**
   * Returns at once; the run begins after the current turn of the event loop, so a burst of requests is one run. An urgent
   * one waits for a run in progress and for the retry of a failed one, but for no gap.
   */
  request({ urgent = false }: { readonly urgent?: boolean } = {}): void {
    if (this.#waiting.signal.aborted) return
    this.#requested = true
    if (urgent) {
      this.#urgent = true
      this.#hurry.abort()
    }
    this.#loop ??= this.#runWhileRequested()
  }

  /** Tells whether the run in progress is stuck: the reason, or undefined. A run that fails again and again is not. */
  findStuckRun(): string | undefined {
    const forMs = performance.now() - (this.#runningSinceMs ?? performance.now())
    if (forMs <= (this.#options.stuckAfterMs ?? stuckAfterMs)) return undefined
    return `a sync has not ended for ${Math.round(forMs / 1000)} s`
  }

  /** Drops pending requests and waits for the current run; rejects with the signal's reason when the signal aborts first. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#waiting.abort()
    if (this.#loop === undefined) return
    const forward = () => this.#running.abort(scope.signal.reason)
    scope.signal.addEventListener('abort', forward, { once: true })
    if (scope.signal.aborted) forward()
    await orAborted(this.#loop, scope.signal).finally(() => scope.signal.removeEventListener('abort', forward))
  }

  async #runWhileRequested(): Promise<void> {
    let retryInMs = 0
    while (this.#requested) {
      await this.#waitForTurn(retryInMs)
      if (this.#waiting.signal.aborted) break
      this.#requested = false
      this.#urgent = false
      this.#lastStartMs = performance.now()
      this.#runningSinceMs = this.#lastStartMs
      retryInMs = await this.#runOnce()
      this.#runningSinceMs = undefined
      this.#lastRunMs = performance.now() - this.#lastStartMs
    }
    this.#loop = undefined
  }

  /** Computes the wait before the next run that this run requires. */
  async #runOnce(): Promise<number> {
    try {
      await this.#job({ signal: this.#running.signal })
      this.#options.backoff.reset()
      return 0
    } catch (error) {
      this.#requested = true
      const retryInMs = this.#options.backoff.nextDelayMs()
      if (!this.#waiting.signal.aborted) this.#options.onError(error, retryInMs)
      return retryInMs
    }
  }

  #gapLeftMs(): number {
    const { minGapMs = 0 } = this.#options
    const gapMs = typeof minGapMs === 'number' ? minGapMs : minGapMs(this.#lastRunMs)
    return gapMs - (performance.now() - this.#lastStartMs)
  }

  async #waitForTurn(retryInMs: number): Promise<void> {
    const gapLeftMs = this.#urgent ? 0 : this.#gapLeftMs()
    if (gapLeftMs <= retryInMs) return this.#wait(retryInMs, this.#waiting.signal)
    this.#hurry = new AbortController()
    await this.#wait(retryInMs, this.#waiting.signal)
    await this.#wait(this.#gapLeftMs(), AbortSignal.any([this.#waiting.signal, this.#hurry.signal]))
  }

  async #wait(delayMs: number, signal: AbortSignal): Promise<void> {
    const timer =
      delayMs > 0 ? setTimeout(Math.ceil(delayMs), undefined, { signal }) : setImmediate(undefined, { signal })
    await timer.catch(() => {})
  }
}
