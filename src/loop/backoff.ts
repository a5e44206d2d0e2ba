export interface BackoffOptions {
  readonly baseMs: number
  readonly maxMs: number
  /** Growth per failure; 2 doubles. */
  readonly factor?: number
  /** The random share of each delay, from 0 (none) to 1 (all), so that many clients do not return at the same moment. */
  readonly jitter?: number
  /** Returns a number in [0, 1); replaced in tests. */
  readonly random?: () => number
}

/** Computes delays that grow with each consecutive failure and start again after a success. */
export class Backoff {
  readonly #options: Required<BackoffOptions>
  #failures = 0

  constructor(options: BackoffOptions) {
    this.#options = { factor: 2, jitter: 0.5, random: Math.random, ...options }
  }

  /** Counts one more failure and returns the delay after it. */
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
