/** A rate limiter: allows `burst` tokens at once and `perSecond` on average. */
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

  /** Takes a token, in advance if none is left, and returns the wait until it is valid in ms. */
  reserve(): number {
    const nowMs = this.#nowMs()
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#countedMs) * this.#perMs)
    this.#countedMs = nowMs
    this.#tokens -= 1
    return this.#tokens >= 0 ? 0 : -this.#tokens / this.#perMs
  }
}
