import type { Resource } from '../resources/resource.ts'

/** The number of events sent to the watches of one kind; the sender of an event increments it. */
export interface EventCount {
  readonly group: string
  readonly version: string
  readonly kind: string
  value: number
}

/** Holds one count per watched kind: looked up once per watch, so that an event costs one addition. */
export class EventCounts {
  readonly #counts = new Map<string, EventCount>()

  of({ group, version, kind }: Resource): EventCount {
    const key = `${group}/${version}/${kind}`
    const count = this.#counts.get(key) ?? { group, version, kind, value: 0 }
    this.#counts.set(key, count)
    return count
  }

  all(): readonly EventCount[] {
    return [...this.#counts.values()]
  }
}
