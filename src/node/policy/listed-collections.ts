type ListingState = { readonly kind: 'wanted'; readonly sinceMs: number } | { readonly kind: 'listed' } | Denied
interface Denied {
  readonly kind: 'denied'
  readonly reason: string
}

/** A collection that becomes wanted later holds back writing for no longer than this: what it would allow is denied then. */
const maxWaitMs = 2_000

/** Which collections of the API the policies need, and which of them have been listed: nothing is enforced by half of them. */
export class ListedCollections {
  readonly #states = new Map<string, ListingState>()
  readonly #listeners = new Set<() => void>()
  #wasComplete = false

  /** The collection is needed from now on; one that is known stays as it is. */
  want(name: string): void {
    if (!this.#states.has(name)) this.#set(name, { kind: 'wanted', sinceMs: performance.now() })
  }

  listed(name: string): void {
    if (this.#states.get(name)?.kind !== 'listed') this.#set(name, { kind: 'listed' })
  }

  /** The server refuses it, or does not have it. One that was listed before stays so: what was read of it holds until it is read again. */
  denied(name: string, reason: string): void {
    if (this.#states.get(name)?.kind !== 'listed') this.#set(name, { kind: 'denied', reason })
  }

  drop(name: string): void {
    if (this.#states.delete(name)) this.#notify()
  }

  /** Whether rules may be written: all is listed, or was once and what is wanted since does not come. */
  get isComplete(): boolean {
    const missing = [...this.#states.values()].filter(({ kind }) => kind !== 'listed')
    if (missing.length === 0) return this.#wasComplete
    return this.#wasComplete && missing.every((state) => !isAwaited(state))
  }

  /** How long writing is held back for a collection that became wanted later, at most; undefined where it is not. */
  get waitMs(): number | undefined {
    if (!this.#wasComplete || this.isComplete) return undefined
    const waits = [...this.#states.values()].map((state) => (state.kind === 'wanted' ? leftMs(state.sinceMs) : 0))
    return Math.max(...waits)
  }

  /** All that has been wanted so far is all that is needed: from here on the lists can be complete. */
  settle(): void {
    if (this.#wasComplete || [...this.#states.values()].some(({ kind }) => kind !== 'listed')) return
    this.#wasComplete = true
    this.#notify()
  }

  /** One sentence for each collection that the server does not hand out. */
  denials(): readonly string[] {
    return Array.from(this.#states, ([name, state]) =>
      state.kind === 'denied' ? `${name} cannot be read: ${state.reason}` : undefined,
    ).filter((text) => text !== undefined)
  }

  missing(): readonly string[] {
    return Array.from(this.#states, ([name, { kind }]) => (kind === 'listed' ? undefined : name)).filter(
      (name) => name !== undefined,
    )
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #set(name: string, state: ListingState): void {
    this.#states.set(name, state)
    this.#notify()
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

function isAwaited(state: ListingState): boolean {
  return state.kind === 'wanted' && leftMs(state.sinceMs) > 0
}

function leftMs(sinceMs: number): number {
  return Math.max(0, maxWaitMs - (performance.now() - sinceMs))
}
