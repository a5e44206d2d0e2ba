import type { Resource } from '../resources/resource.ts'

/** How many events the watches of one kind were sent; whoever sends one adds to it. */
export interface EventCount {
  readonly group: string
  readonly version: string
  readonly kind: string
  value: number
}

/** One count for each kind that was ever watched: looked up once a watch, so that an event costs an addition. */
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
