import type { Verb } from './route/route.ts'
import { tooManyRequests } from './status.ts'

const maxReads = 400
const maxWrites = 200

/** Bounds the requests being worked on; watches live long and count nowhere. */
export class InFlight {
  readonly #counts = { reads: 0, writes: 0 }

  get reads(): number {
    return this.#counts.reads
  }

  get writes(): number {
    return this.#counts.writes
  }

  /** Runs the work, or throws a 429 when too much is under way. */
  async run<T>(verb: Verb, work: () => Promise<T>): Promise<T> {
    if (verb === 'watch') return work()
    const kind = verb === 'get' || verb === 'list' ? 'reads' : 'writes'
    if (this.#counts[kind] >= (kind === 'reads' ? maxReads : maxWrites)) throw tooManyRequests()
    this.#counts[kind]++
    try {
      return await work()
    } finally {
      this.#counts[kind]--
    }
  }
}
