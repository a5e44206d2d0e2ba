import { setImmediate } from 'node:timers/promises'

/** Splits long work into slices: between them timers and sockets get their turn. */
export class TimeSlice {
  readonly #budgetMs: number
  #startedMs = performance.now()

  constructor(budgetMs = 5) {
    this.#budgetMs = budgetMs
  }

  /** True when the slice has used its budget and `pause` is due; cheap enough to ask after every item. */
  get spent(): boolean {
    return performance.now() - this.#startedMs >= this.#budgetMs
  }

  /** Gives the event loop one turn and starts the next slice. */
  async pause(): Promise<void> {
    await setImmediate()
    this.#startedMs = performance.now()
  }
}
