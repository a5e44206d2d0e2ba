import type { ObjectKey } from '../../model/api-object.ts'
import type { Logger } from '../../observe/index.ts'

/** The rules of the other mode know no change: what is right for a Service now may be wrong for it soon. */
const patienceMs = 10 * 60_000
const namedServices = 5

export interface ModeHandoverParts {
  /** Tells whether rules of the other mode are in the kernel. */
  readonly hasOthers: () => Promise<boolean>
  /** Called once: the rules of the other mode may go. */
  readonly onDue: () => void
  readonly log: Logger
}

/**
 * Decides when the rules of the other mode may go: when those of this one are complete. A Service that this mode refuses, and the other
 * one serves, keeps the others' rules in the kernel for ten minutes, in which it can be corrected.
 */
export class ModeHandover {
  readonly #parts: ModeHandoverParts
  #isDue = false
  #timer: NodeJS.Timeout | undefined

  constructor(parts: ModeHandoverParts) {
    this.#parts = parts
  }

  get isDue(): boolean {
    return this.#isDue
  }

  /** Everything is in the kernel but what these Services should have, of which nothing is there in this mode. */
  complete(unserved: readonly ObjectKey[]): void {
    if (unserved.length === 0) this.#finish()
    if (this.#isDue || this.#timer !== undefined) return
    this.#timer = setTimeout(() => this.#finish(), patienceMs)
    this.#timer.unref()
    void this.#waitFor(unserved)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  async #waitFor(unserved: readonly ObjectKey[]): Promise<void> {
    const { hasOthers, log } = this.#parts
    // A question without an answer counts as yes: rules that stay for some minutes harm less than the removal of those in use.
    if (!(await hasOthers().catch(() => true))) this.#finish()
    if (this.#isDue) return
    log.warn('the rules of the other mode stay for ten minutes, as this one refuses Services that they may serve', {
      services: unserved.slice(0, namedServices),
      count: unserved.length,
    })
  }

  #finish(): void {
    if (this.#isDue) return
    this.#isDue = true
    clearTimeout(this.#timer)
    this.#parts.onDue()
  }
}
