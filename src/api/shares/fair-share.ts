import type { Flow } from './flow.ts'

/** The part of a capacity that is reserved: ordinary flows cannot use it. */
const keptPart = 0.25

/**
 * Divides a capacity (slots, bytes) among flows without a fixed size for any: a flow may hold at most as much as remains free. One alone gets half,
 * two a third each, and there is always room for another. Admins are limited by the capacity only.
 */
export class FairShare {
  readonly #capacity: () => number
  readonly #held = new Map<string, number>()
  #used = 0

  /** `capacity` may be a function, for one that changes; what is held beyond a smaller one stays held. */
  constructor(capacity: number | (() => number)) {
    this.#capacity = typeof capacity === 'number' ? () => capacity : capacity
  }

  get used(): number {
    return this.#used
  }

  /** Takes the amount; returns false, and takes nothing, when the flow may not have it now. */
  take({ key, level }: Flow, amount = 1): boolean {
    const all = this.#capacity()
    const capacity = level === 'ordinary' ? all * (1 - keptPart) : all
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

/** The amount that one request or connection of a flow holds of a share. */
export class Claim {
  readonly #share: FairShare
  readonly #flow: Flow
  #held = 0

  constructor(share: FairShare, flow: Flow) {
    this.#share = share
    this.#flow = flow
  }

  /** Sets the held amount; returns false, and keeps the old amount, when the flow may not have it. */
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
