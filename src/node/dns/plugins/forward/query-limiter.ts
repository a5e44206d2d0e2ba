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
  readonly #max: number
  #taken = 0
  /** The slots of each client. While none is taken, the last client keeps its empty set: it is likely the next one. */
  readonly #byClient = new Map<string, Set<QuerySlot>>()

  /** Sets no limit where `max` is undefined. */
  constructor(max: number | undefined) {
    this.#max = max ?? Number.POSITIVE_INFINITY
  }

  /** Returns false when no slot is free. */
  take(slot: QuerySlot): boolean {
    if (this.#max === Number.POSITIVE_INFINITY) return true
    const { client } = slot
    if (this.#taken >= this.#max && !this.#makeRoomFor(client)) return false
    this.#slotsOf(client).add(slot)
    this.#taken += 1
    return true
  }

  release(slot: QuerySlot): void {
    const slots = this.#byClient.get(slot.client)
    if (!slots?.delete(slot)) return
    this.#taken -= 1
    if (slots.size === 0 && this.#taken > 0) this.#byClient.delete(slot.client)
  }

  #slotsOf(client: string): Set<QuerySlot> {
    const known = this.#byClient.get(client)
    if (known !== undefined) return known
    if (this.#taken === 0) this.#byClient.clear()
    const slots = new Set<QuerySlot>()
    this.#byClient.set(client, slots)
    return slots
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
