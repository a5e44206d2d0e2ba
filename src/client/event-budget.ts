/** How many Events about one object are told at once, and after how long there is room for one more; the same as in client-go. */
const burst = 25
const refillMs = 300_000
const maxSubjects = 4_096

/** Keeps one object that much happens to from filling the store with Events. */
export class EventBudget {
  readonly #spent = new Map<string, { tokens: number; atMs: number }>()

  /** Whether one more may be told of the object with that uid; counts it when it may. */
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
