import { Backoff } from '../../loop/backoff.ts'
import type { ObjectKey } from '../../model/api-object.ts'

/** A Service whose rules the kernel refused: what it had before stays, and it is tried again alone. */
export interface SetAsideService {
  readonly service: ObjectKey
  readonly reason: string
  /** Milliseconds since 1970. */
  readonly sinceMs: number
  readonly attempts: number
  readonly retryAtMs: number
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

  /** The kernel refused it (again). */
  put(service: ObjectKey, reason: string): SetAsideService {
    const known = this.#entries.get(service)
    const backoff = known?.backoff ?? new Backoff({ baseMs: 1000, maxMs: 5 * 60_000 })
    const entry = {
      service,
      reason,
      sinceMs: known?.sinceMs ?? this.#now(),
      attempts: (known?.attempts ?? 0) + 1,
      retryAtMs: this.#now() + backoff.nextDelayMs(),
      backoff,
    }
    this.#entries.set(service, entry)
    return entry
  }

  remove(service: ObjectKey): void {
    this.#entries.delete(service)
  }

  /** Those whose time has come, and those that changed, which may have mended them. */
  due(changed: readonly ObjectKey[]): readonly ObjectKey[] {
    const now = this.#now()
    const entries = Array.from(this.#entries.values())
    const isDue = ({ service, retryAtMs }: Entry) => retryAtMs <= now || changed.includes(service)
    return entries.filter(isDue).map(({ service }) => service)
  }

  /** Until the next one is due; undefined where none waits. */
  nextInMs(): number | undefined {
    const times = Array.from(this.#entries.values(), ({ retryAtMs }) => retryAtMs)
    return times.length === 0 ? undefined : Math.max(0, Math.min(...times) - this.#now())
  }
}
