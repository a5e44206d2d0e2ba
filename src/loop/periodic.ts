import { setTimeout } from 'node:timers/promises'
import { orAborted } from './deadline.ts'

export interface PeriodicOptions {
  /** Time from the end of one run to the start of the next, asked for at that end where it changes; runs never overlap. */
  readonly intervalMs: number | (() => number)
  /** Delay of the first run; `intervalMs` if absent. */
  readonly firstAfterMs?: number
  readonly onError: (error: unknown) => void
}

/** Runs a job periodically; a failed run is reported and the schedule continues. */
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

  /** Starts the next run at once, or at the end of the current one. */
  runSoon(): void {
    this.#hurry.abort()
  }

  /** Ends the schedule and waits for the current run; rejects with the signal's reason when the signal aborts first. */
  async stop(scope: { signal: AbortSignal }): Promise<void> {
    this.#stopping.abort()
    if (this.#loop !== undefined) await orAborted(this.#loop, scope.signal)
  }

  async #runUntilStopped(): Promise<void> {
    const { intervalMs, onError } = this.#options
    const nextMs = typeof intervalMs === 'number' ? () => intervalMs : intervalMs
    const { firstAfterMs = nextMs() } = this.#options
    const { signal } = this.#stopping
    for (let delayMs = firstAfterMs; !signal.aborted; delayMs = nextMs()) {
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
