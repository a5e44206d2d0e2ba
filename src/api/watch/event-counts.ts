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
    const key = keyOf({ group, version, kind })
    const count = this.#counts.get(key) ?? { group, version, kind, value: 0 }
    this.#counts.set(key, count)
    return count
  }

  /** Returns the counts of kinds that are served, and forgets the others. */
  ofServed(resources: readonly Resource[]): readonly EventCount[] {
    const served = new Set(resources.map(keyOf))
    for (const key of this.#counts.keys()) if (!served.has(key)) this.#counts.delete(key)
    return [...this.#counts.values()]
  }
}

function keyOf({ group, version, kind }: Pick<Resource, 'group' | 'version' | 'kind'>): string {
  return `${group}/${version}/${kind}`
}
