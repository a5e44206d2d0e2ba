import type { Flow } from './flow.ts'

/** The part of a capacity that is kept from ordinary flows. */
const keptPart = 0.25

/**
 * Divides a capacity (slots, bytes) among flows without a fixed size for any: a flow may hold at most as much as is left over. One alone gets half, two a
 * third each, and there is always room for the next. Admins are bound by the capacity only.
 */
export class FairShare {
  readonly #capacity: number
  readonly #held = new Map<string, number>()
  #used = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get used(): number {
    return this.#used
  }

  /** False where that much is not to be given now; nothing has been taken then. */
  take({ key, level }: Flow, amount = 1): boolean {
    const capacity = level === 'ordinary' ? this.#capacity * (1 - keptPart) : this.#capacity
    const left = capacity - this.#used
    const held = (this.#held.get(key) ?? 0) + amount
    if (level === 'admin' ? amount > left : held > left) return false
    this.#held.set(key, held)
    this.#used += amount
    return true
  }

  giveBack({ key }: Flow, amount = 1): void {
    const held = (this.#held.get(key) ?? 0) - amount
    if (held > 0) this.#held.set(key, held)
    else this.#held.delete(key)
    this.#used -= amount
  }
}

/** What one request or connection of a flow holds of a share. */
export class Claim {
  readonly #share: FairShare
  readonly #flow: Flow
  #held = 0

  constructor(share: FairShare, flow: Flow) {
    this.#share = share
    this.#flow = flow
  }

  /** Holds that much from now on; false where it is not to be given: then it holds what it did. */
  resize(amount: number): boolean {
    const more = amount - this.#held
    if (more > 0 && !this.#share.take(this.#flow, more)) return false
    if (more < 0) this.#share.giveBack(this.#flow, -more)
    this.#held = amount
    return true
  }

  release(): void {
    if (this.#held > 0) this.resize(0)
  }
}
