import { setTimeout } from 'node:timers/promises'
import { orAborted } from './deadline.ts'

export interface PeriodicOptions {
  /** From the end of one run to the start of the next, so that runs never overlap. */
  readonly intervalMs: number
  /** Before the first run; `intervalMs` when absent. */
  readonly firstAfterMs?: number
  readonly onError: (error: unknown) => void
}

/** Runs a job again and again; a failed run is reported and the next comes at its time. */
export class Periodic {
  readonly #job: (scope: { signal: AbortSignal }) => Promise<void>
  readonly #options: PeriodicOptions
  readonly #stopping = new AbortController()
  #hurry = new AbortController()
  #loop: Promise<void> | undefined

  /** The job's signal aborts as soon as `stop` is called. */
  constructor(job: (scope: { signal: AbortSignal }) => Promise<void>, options: PeriodicOptions) {
    this.#job = job
    this.#options = options
  }

  start(): void {
    this.#loop ??= this.#runUntilStopped()
  }

  /** The next run begins at once, or when the one that is under way has ended. */
  runSoon(): void {
    this.#hurry.abort()
  }

  /** Waits for the running job; rejects with the signal's reason when that takes too long. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#stopping.abort()
    if (this.#loop !== undefined) await orAborted(this.#loop, scope.signal)
  }

  async #runUntilStopped(): Promise<void> {
    const { intervalMs, firstAfterMs = intervalMs, onError } = this.#options
    const { signal } = this.#stopping
    for (let delayMs = firstAfterMs; !signal.aborted; delayMs = intervalMs) {
      const waiting = AbortSignal.any([signal, this.#hurry.signal])
      await setTimeout(delayMs, undefined, { signal: waiting }).catch(() => {})
      if (signal.aborted) return
      this.#hurry = new AbortController()
      try {
        await this.#job({ signal })
      } catch (error) {
        if (!signal.aborted) onError(error)
      }
    }
  }
}
