import { Backoff } from '../../loop/backoff.ts'
import type { ObjectKey } from '../../model/api-object.ts'

/** A Service to set aside, with the reason. */
export interface Refusal {
  readonly service: ObjectKey
  readonly reason: string
  /** Only a change of it can help: it is not tried again by itself. */
  readonly isTooLarge?: true
}

/** A Service whose rules the kernel refused, or that has too many: what it had before stays. A refused one is tried again alone. */
export interface SetAsideService extends Refusal {
  /** Milliseconds since 1970. */
  readonly sinceMs: number
  readonly attempts: number
  /** Undefined: as soon as it changes, and not before. */
  readonly retryAtMs?: number
}

interface Entry extends SetAsideService {
  readonly backoff: Backoff
}

/** The Services that are set aside, each with its own backoff. */
export class SetAside {
  readonly #entries = new Map<ObjectKey, Entry>()
  readonly #now: () => number

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  get size(): number {
    return this.#entries.size
  }

  has(service: ObjectKey): boolean {
    return this.#entries.has(service)
  }

  list(): readonly SetAsideService[] {
    return Array.from(this.#entries.values(), ({ backoff: _, ...entry }) => entry)
  }

  /** It was refused (again). */
  put(refusal: Refusal): SetAsideService {
    const { service, reason, isTooLarge } = refusal
    const known = this.#entries.get(service)
    const backoff = known?.backoff ?? new Backoff({ baseMs: 1000, maxMs: 5 * 60_000 })
    const entry = {
      service,
      reason,
      sinceMs: known?.sinceMs ?? this.#now(),
      attempts: (known?.attempts ?? 0) + 1,
      ...(isTooLarge ? { isTooLarge } : { retryAtMs: this.#now() + backoff.nextDelayMs() }),
      backoff,
    }
    this.#entries.set(service, entry)
    return entry
  }

  /** False where it was not set aside. */
  remove(service: ObjectKey): boolean {
    return this.#entries.delete(service)
  }

  /** Returns the Services that are due to be tried again. */
  due(): readonly ObjectKey[] {
    const now = this.#now()
    const isDue = ({ retryAtMs = Number.POSITIVE_INFINITY }: Entry) => retryAtMs <= now
    return Array.from(this.#entries.values().filter(isDue), ({ service }) => service)
  }

  /** Until the next one is due; undefined where none waits. */
  nextInMs(): number | undefined {
    const times = [...this.#entries.values()].flatMap(({ retryAtMs }) => retryAtMs ?? [])
    return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - this.#now())
  }
}
