/** A place among the queries that are under way. */
export interface Place {
  readonly client: string
  readonly onEvicted: () => void
}

/**
 * At most so many queries under way. When all places are taken, a client that has fewer than its share takes the newest one of the client
 * that has most, so that nobody can keep the others out.
 */
export class QueryLimiter {
  #max: number
  #taken = 0
  readonly #byClient = new Map<string, Set<Place>>()

  /** Undefined is any number. */
  constructor(max: number | undefined) {
    this.#max = max ?? Number.POSITIVE_INFINITY
  }

  get taken(): number {
    return this.#taken
  }

  /** Holds for queries that come from now on. */
  changeMax(max: number | undefined): void {
    this.#max = max ?? Number.POSITIVE_INFINITY
  }

  /** Undefined when there is no place. `onEvicted` is called when the place goes to another client. */
  take(client: string, onEvicted: () => void): Place | undefined {
    if (this.#taken >= this.#max && !this.#makeRoomFor(client)) return undefined
    const place = { client, onEvicted }
    const places = this.#byClient.get(client) ?? new Set()
    this.#byClient.set(client, places.add(place))
    this.#taken += 1
    return place
  }

  release(place: Place): void {
    const places = this.#byClient.get(place.client)
    if (!places?.delete(place)) return
    this.#taken -= 1
    if (places.size === 0) this.#byClient.delete(place.client)
  }

  #makeRoomFor(client: string): boolean {
    const own = this.#byClient.get(client)?.size ?? 0
    const clients = this.#byClient.size + (own === 0 ? 1 : 0)
    if (own + 1 > this.#max / clients) return false
    const victim = [...this.#heaviest()].at(-1)
    if (victim === undefined) return false
    this.release(victim)
    victim.onEvicted()
    return true
  }

  #heaviest(): ReadonlySet<Place> {
    let heaviest: ReadonlySet<Place> = new Set()
    for (const places of this.#byClient.values()) if (places.size > heaviest.size) heaviest = places
    return heaviest
  }
}
