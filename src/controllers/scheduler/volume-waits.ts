/** How long a pod keeps its place on a node while its volumes are bound there: the `bindTimeoutSeconds` of kube-scheduler, 10 minutes. */
export const volumeBindTimeoutMs = 600_000
/** How long it then has no place, so that others can have it: the longest backoff of kube-scheduler. */
const restMs = 10_000

/** The times until which pods keep a place on a node without their volumes. A provisioner that never answers must not hold it for ever. */
export class VolumeWaits {
  readonly #timeoutMs: number
  readonly #keptUntilMs = new Map<string, number>()
  /** The pods that have waited too long, and when they may wait again. */
  readonly #restingUntilMs = new Map<string, number>()

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** Notes that a pod waits for its volumes from now on, if it does not already. */
  note(uid: string, nowMs: number): void {
    if (!this.#keptUntilMs.has(uid)) this.#keptUntilMs.set(uid, nowMs + this.#timeoutMs)
  }

  /** Checks whether a pod has waited too long. After a pause it may wait again. */
  isOver(uid: string, nowMs: number): boolean {
    const endMs = this.#keptUntilMs.get(uid)
    if (endMs !== undefined && nowMs >= endMs) {
      this.#keptUntilMs.delete(uid)
      this.#restingUntilMs.set(uid, nowMs + restMs)
    }
    const restingUntilMs = this.#restingUntilMs.get(uid)
    if (restingUntilMs === undefined) return false
    if (nowMs < restingUntilMs) return true
    this.#restingUntilMs.delete(uid)
    return false
  }

  /** Forgets the pods that do not wait any more. */
  keep(waiting: ReadonlySet<string>): void {
    for (const times of [this.#keptUntilMs, this.#restingUntilMs])
      for (const uid of times.keys()) if (!waiting.has(uid)) times.delete(uid)
  }

  /** Returns the time until the first pod must be looked at again; undefined where none waits. An end that has passed meanwhile is due now. */
  nextInMs(nowMs: number): number | undefined {
    const ends = [...this.#keptUntilMs.values(), ...this.#restingUntilMs.values()]
    return ends.length === 0 ? undefined : Math.max(1, Math.min(...ends) - nowMs)
  }
}
