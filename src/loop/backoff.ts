export interface BackoffOptions {
  readonly baseMs: number
  readonly maxMs: number
  /** Growth per failure; 2 doubles. */
  readonly factor?: number
  /** The share of each delay left to chance, 0 (none) to 1 (all of it), so that many clients do not return in step. */
  readonly jitter?: number
  /** In [0, 1); for tests. */
  readonly random?: () => number
}

/** Delays that grow with each failure in a row and start again after a success. */
export class Backoff {
  readonly #options: Required<BackoffOptions>
  #failures = 0

  constructor(options: BackoffOptions) {
    this.#options = { factor: 2, jitter: 0.5, random: Math.random, ...options }
  }

  /** Counts one more failure and says how long to wait after it. */
  nextDelayMs(): number {
    const { baseMs, maxMs, factor, jitter, random } = this.#options
    const fullMs = Math.min(maxMs, baseMs * factor ** this.#failures)
    this.#failures += 1
    return fullMs * (1 - jitter * random())
  }

  reset(): void {
    this.#failures = 0
  }
}
