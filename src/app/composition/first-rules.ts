import type { IpFamily } from '../../model/ip.ts'

/** A family may fail for long, and must not keep the others waiting. */
const defaultPatienceMs = 5_000

/**
 * What follows the first rules of the families of a node. One without Services is complete while another one still plans tens of thousands: what comes
 * afterwards, which starts programs, waits for both.
 */
export class FirstRules {
  readonly #missing: Set<IpFamily>
  readonly #patienceMs: number
  readonly #done = Promise.withResolvers<void>()
  #timer: NodeJS.Timeout | undefined

  constructor(families: readonly IpFamily[], patienceMs = defaultPatienceMs) {
    this.#missing = new Set(families)
    this.#patienceMs = patienceMs
  }

  /** The rules of this family are in the kernel. Resolves when those of all families are, or some seconds after the first. */
  complete(family: IpFamily): Promise<void> {
    this.#missing.delete(family)
    if (this.#missing.size === 0) this.#finish()
    else this.#timer ??= setTimeout(() => this.#finish(), this.#patienceMs).unref()
    return this.#done.promise
  }

  #finish(): void {
    clearTimeout(this.#timer)
    this.#done.resolve()
  }
}
