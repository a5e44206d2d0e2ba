import { Slots } from '../../loop/slots.ts'

/**
 * The rules of one family in the kernel: either a change of them is under way, or they stand and someone relies on it, never both. They
 * stand once a change has been carried out to its end, and until the next one begins.
 */
export class StandingRules {
  readonly #turns = new Slots(1)
  #changes = 0
  #areStanding = false

  /** The number of changes that have begun. */
  get changes(): number {
    return this.#changes
  }

  /** Carries out one change; after one that throws, the rules do not stand. */
  change<T>(body: () => Promise<T>): Promise<T> {
    return this.#turns.run(async () => {
      this.#changes += 1
      this.#areStanding = false
      const result = await body()
      this.#areStanding = true
      return result
    })
  }

  /** Changes wait until `body` has ended. Returns undefined, without a call of `body`, where the rules do not stand. */
  hold<T>(body: () => Promise<T>): Promise<T | undefined> {
    return this.#turns.run(async () => (this.#areStanding ? await body() : undefined))
  }
}
