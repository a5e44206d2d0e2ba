import type { Store, StoreWrite } from '../store/index.ts'
import { type Band, findFree } from './band.ts'

/** A band of numbers; a number is taken while its key is in the store. */
export interface Pool {
  readonly band: Band
  readonly keyPrefix: string
  readonly toText: (value: bigint) => string
  /** Parses the number of a key; undefined for the key of a number that cannot be in this pool. */
  readonly fromText: (text: string) => bigint | undefined
  /** Returns the value that the store keeps under the number's key; it names the holder. */
  readonly render: (value: bigint) => string
  /** Checks whether a stored value names the holder that this pool was made for. */
  readonly isOwn: (text: string) => boolean
}

/** The claims and releases of one transition, on top of the store's contents. Nothing is written before the commit. */
export class Claims {
  readonly #store: Store
  readonly #pickBelow: (limit: number) => number
  readonly #writes = new Map<string, StoreWrite>()

  constructor(store: Store, pickBelow: (limit: number) => number) {
    this.#store = store
    this.#pickBelow = pickBelow
  }

  get writes(): readonly StoreWrite[] {
    return [...this.#writes.values()]
  }

  /** Claims the given number; false when another object holds it. A repeated claim has no further effect. */
  async claim(pool: Pool, value: bigint): Promise<boolean> {
    if (this.#writes.has(keyOf(pool, value))) return true
    if (await this.#isTaken(pool, value)) return false
    this.#put(pool, value)
    return true
  }

  /** Claims a free number; undefined when none is left. */
  async claimAny(pool: Pool): Promise<bigint | undefined> {
    const isTaken = (value: bigint) => this.#isTaken(pool, value)
    const value = await findFree(pool.band, isTaken, () => this.#listTaken(pool), this.#pickBelow)
    if (value !== undefined) this.#put(pool, value)
    return value
  }

  /** Releases a number; one that another object holds stays. */
  async release(pool: Pool, value: bigint): Promise<void> {
    const entry = await this.#store.get(keyOf(pool, value))
    if (entry === undefined || !pool.isOwn(entry.value)) return
    this.#writes.set(entry.key, { kind: 'delete', key: entry.key, expectedRevision: entry.revision })
  }

  async #isTaken(pool: Pool, value: bigint): Promise<boolean> {
    const key = keyOf(pool, value)
    return this.#writes.has(key) || (await this.#store.get(key)) !== undefined
  }

  async #listTaken({ keyPrefix, fromText }: Pool): Promise<ReadonlySet<bigint>> {
    const { entries } = await this.#store.range(keyPrefix)
    const keys = [...entries.map(({ key }) => key), ...this.#writes.keys()].filter((key) => key.startsWith(keyPrefix))
    return new Set(keys.flatMap((key) => fromText(key.slice(keyPrefix.length)) ?? []))
  }

  #put(pool: Pool, value: bigint): void {
    const key = keyOf(pool, value)
    this.#writes.set(key, { kind: 'put', key, value: pool.render(value), expectedRevision: 0 })
  }
}

function keyOf({ keyPrefix, toText }: Pool, value: bigint): string {
  return `${keyPrefix}${toText(value)}`
}
