/** Lets `burst` through at once and `perSecond` in the long run. */
export class TokenBucket {
  readonly #perMs: number
  readonly #burst: number
  readonly #nowMs: () => number
  #tokens: number
  #countedMs: number

  constructor(options: { perSecond: number; burst: number; nowMs?: () => number }) {
    this.#perMs = options.perSecond / 1000
    this.#burst = options.burst
    this.#nowMs = options.nowMs ?? (() => performance.now())
    this.#tokens = options.burst
    this.#countedMs = this.#nowMs()
  }

  /** Takes a token, also one that is yet to come, and says how long to wait for it. */
  reserve(): number {
    const nowMs = this.#nowMs()
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#countedMs) * this.#perMs)
    this.#countedMs = nowMs
    this.#tokens -= 1
    return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perMs
  }
}
