import { randomFillSync } from 'node:crypto'

const poolBytes = 4096

/**
 * Numbers that cannot be guessed. They are read from the system in blocks of 4 KiB, because a call for each would cost more than the rest of a
 * query.
 */
export class RandomNumbers {
  readonly #pool = Buffer.allocUnsafeSlow(poolBytes)
  #at = poolBytes

  byte(): number {
    if (this.#at === poolBytes) {
      randomFillSync(this.#pool)
      this.#at = 0
    }
    const byte = this.#pool[this.#at] ?? 0
    this.#at += 1
    return byte
  }

  uint16(): number {
    return this.byte() * 256 + this.byte()
  }
}
