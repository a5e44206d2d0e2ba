/** The source of an item of a merged list: its index in the live list or in the applied one. */
export type Place =
  | { readonly from: 'live'; readonly index: number }
  | { readonly from: 'applied'; readonly index: number }

/**
 * Returns the order of a merged list, as in structured-merge-diff; linear. Applied items keep their relative order. A live item that is not
 * applied stays behind the items that preceded it; a new applied item goes before the next item that both lists have, behind the live ones
 * there.
 */
export function mergeOrder(live: readonly string[], applied: readonly string[]): readonly Place[] {
  const merge = new ListMerge(live, applied)
  while (!merge.isDone()) merge.advance()
  return merge.places
}

class ListMerge {
  readonly places: Place[] = []
  readonly #live: readonly string[]
  readonly #applied: readonly string[]
  readonly #wanted: ReadonlySet<string>
  /** The items of both lists, in the order of the applied one. */
  readonly #shared: readonly string[]
  readonly #placed = new Set<string>()
  #left = 0
  #right = 0
  #turn = 0

  constructor(live: readonly string[], applied: readonly string[]) {
    const present = new Set(live)
    this.#live = live
    this.#applied = applied
    this.#wanted = new Set(applied)
    this.#shared = applied.filter((step) => present.has(step))
  }

  isDone(): boolean {
    return this.#left >= this.#live.length && this.#right >= this.#applied.length
  }

  advance(): void {
    const step = this.#live[this.#left]
    if (step !== undefined && !this.#wanted.has(step)) this.places.push({ from: 'live', index: this.#left++ })
    else if (step !== undefined && this.#isOutOfTurn(step)) this.#left++
    else {
      const next = this.#applied[this.#right]
      if (step !== undefined && (step === next || this.#placed.has(step))) this.#left++
      if (next !== undefined) this.#place(next)
    }
  }

  /** Checks whether a live item is not the next shared one: an item of both lists stands where the applied list has it. */
  #isOutOfTurn(step: string): boolean {
    const awaited = this.#shared[this.#turn]
    return this.#right < this.#applied.length && awaited !== undefined && awaited !== step
  }

  #place(step: string): void {
    this.places.push({ from: 'applied', index: this.#right++ })
    this.#placed.add(step)
    if (step === this.#shared[this.#turn]) this.#turn++
  }
}
