/** One of the queries that may be in progress at the same time. */
export interface QuerySlot {
  readonly client: string
  /** Called when the slot goes to another client. */
  onEvicted(): void
}

/**
 * Limits how many queries are in progress. When all slots are taken, a client below its fair share takes the newest slot of the client that
 * holds most, so that one client cannot keep the others out.
 */
export class QueryLimiter {
  #max: number
  #taken = 0
  readonly #byClient = new Map<string, Set<QuerySlot>>()

  /** Sets no limit where `max` is undefined. */
  constructor(max: number | undefined) {
    this.#max = max ?? Number.POSITIVE_INFINITY
  }

  get taken(): number {
    return this.#taken
  }

  /** Changes the limit for queries that arrive from now on. */
  changeMax(max: number | undefined): void {
    this.#max = max ?? Number.POSITIVE_INFINITY
  }

  /** Returns false when no slot is free. */
  take(slot: QuerySlot): boolean {
    const { client } = slot
    if (this.#taken >= this.#max && !this.#makeRoomFor(client)) return false
    const slots = this.#byClient.get(client)
    if (slots === undefined) this.#byClient.set(client, new Set([slot]))
    else slots.add(slot)
    this.#taken += 1
    return true
  }

  release(slot: QuerySlot): void {
    const slots = this.#byClient.get(slot.client)
    if (!slots?.delete(slot)) return
    this.#taken -= 1
    if (slots.size === 0) this.#byClient.delete(slot.client)
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

  #heaviest(): ReadonlySet<QuerySlot> {
    let heaviest: ReadonlySet<QuerySlot> = new Set()
    for (const slots of this.#byClient.values()) if (slots.size > heaviest.size) heaviest = slots
    return heaviest
  }
}
