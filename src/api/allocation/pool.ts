import type { Store, StoreWrite } from '../store/index.ts'
import { type Band, findFree } from './band.ts'

/** A band of numbers, each taken while its key is in the store. The value is the key of the object that holds it. */
export interface Pool {
  readonly band: Band
  readonly keyPrefix: string
  readonly toText: (value: bigint) => string
  readonly fromText: (text: string) => bigint
}

/** The claims and releases of one transition, on top of what the store has. Nothing is written before the commit. */
export class PoolTransaction {
  readonly #store: Store
  readonly #pool: Pool
  readonly #owner: string
  readonly #pickBelow: (limit: number) => number
  readonly #claimed = new Set<bigint>()
  readonly #writes: StoreWrite[] = []

  constructor(store: Store, pool: Pool, owner: string, pickBelow: (limit: number) => number) {
    this.#store = store
    this.#pool = pool
    this.#owner = owner
    this.#pickBelow = pickBelow
  }

  get writes(): readonly StoreWrite[] {
    return this.#writes
  }

  /** Claims that very number; false when another object holds it. Claiming twice is one claim. */
  async claim(value: bigint): Promise<boolean> {
    if (this.#claimed.has(value)) return true
    if (await this.#isTaken(value)) return false
    this.#put(value)
    return true
  }

  /** Claims a free number; undefined when there is none. */
  async claimAny(): Promise<bigint | undefined> {
    const isTaken = async (value: bigint) => this.#claimed.has(value) || (await this.#isTaken(value))
    const value = await findFree(this.#pool.band, isTaken, () => this.#listTaken(), this.#pickBelow)
    if (value !== undefined) this.#put(value)
    return value
  }

  /** Gives a number back; one that another object holds stays. */
  async release(value: bigint): Promise<void> {
    const entry = await this.#store.get(this.#keyOf(value))
    if (entry?.value !== JSON.stringify(this.#owner)) return
    this.#writes.push({ kind: 'delete', key: entry.key, expectedRevision: entry.revision })
  }

  async #isTaken(value: bigint): Promise<boolean> {
    return (await this.#store.get(this.#keyOf(value))) !== undefined
  }

  async #listTaken(): Promise<ReadonlySet<bigint>> {
    const { keyPrefix, fromText } = this.#pool
    const { entries } = await this.#store.range(keyPrefix)
    return new Set([...entries.map(({ key }) => fromText(key.slice(keyPrefix.length))), ...this.#claimed])
  }

  #put(value: bigint): void {
    this.#claimed.add(value)
    this.#writes.push({
      kind: 'put',
      key: this.#keyOf(value),
      value: JSON.stringify(this.#owner),
      expectedRevision: 0,
    })
  }

  #keyOf(value: bigint): string {
    return `${this.#pool.keyPrefix}${this.#pool.toText(value)}`
  }
}
