import { randomFillSync } from 'node:crypto'

const poolBytes = 4096

/** Numbers that cannot be guessed, drawn from the system by the page: a call for each would cost more than the rest of a query. */
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
