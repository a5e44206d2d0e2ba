/** Burst of Events about one object, and the interval after which one more is allowed; both as in client-go. */
const burst = 25
const refillMs = 300_000
const maxSubjects = 4_096

/** Limits the Events about one object, so that a busy object cannot fill the store. */
export class EventBudget {
  readonly #spent = new Map<string, { tokens: number; atMs: number }>()

  /** Tells whether one more Event about the object with that uid is allowed, and counts it if so. */
  take(uid: string, nowMs: number): boolean {
    const known = this.#spent.get(uid) ?? { tokens: burst, atMs: nowMs }
    const tokens = Math.min(burst, known.tokens + (nowMs - known.atMs) / refillMs)
    const isLeft = tokens >= 1
    this.#spent.delete(uid)
    this.#spent.set(uid, { tokens: isLeft ? tokens - 1 : tokens, atMs: nowMs })
    const [oldest] = this.#spent.keys()
    if (this.#spent.size > maxSubjects && oldest !== undefined) this.#spent.delete(oldest)
    return isLeft
  }
}
