import { setTimeout as sleep } from 'node:timers/promises'
import { type ApiClient, ApiError } from '../../src/client/index.ts'
import type { TestServer } from './api-server.ts'
import { accessOfServer } from './controllers.ts'
import { DisturbedClient } from './disturbed-client.ts'

/** Numbers from 0 to 1 that follow from the seed alone (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * A client that meets trouble: writes are refused as conflicts or errors, answers are lost after the write was done, lists and watches break off, until
 * `calm` is called.
 */
export class TroubledClient extends DisturbedClient {
  readonly #random: () => number
  readonly #cuts = new Set<AbortController>()
  #isCalm = false
  /** How often there was trouble, by kind. */
  readonly troubles = { conflicts: 0, errors: 0, lostAnswers: 0, cuts: 0 }

  constructor(server: TestServer, random: () => number) {
    super(accessOfServer(server))
    this.#random = random
  }

  calm(): void {
    this.#isCalm = true
  }

  /** Every list and watch under way breaks off. */
  cutAll(): void {
    for (const cut of this.#cuts) cut.abort()
  }

  override async stream<T>(...[asked, limits, consume]: Parameters<typeof ApiClient.prototype.stream<T>>) {
    const cut = new AbortController()
    this.#cuts.add(cut)
    const signals = [cut.signal, ...(limits.signal === undefined ? [] : [limits.signal])]
    try {
      return await super.stream<T>(asked, { ...limits, signal: AbortSignal.any(signals) }, consume)
    } catch (error) {
      if (!cut.signal.aborted || limits.signal?.aborted === true) throw error
      this.troubles.cuts += 1
      throw new ApiError('unavailable', 'a connection cut by the test')
    } finally {
      this.#cuts.delete(cut)
    }
  }

  protected override async disturb<T>(write: () => Promise<T>): Promise<T> {
    if (this.#isCalm) return write()
    const fate = this.#random()
    if (fate < 0.1) {
      this.troubles.conflicts += 1
      throw new ApiError('conflict', 'a conflict made by the test')
    }
    if (fate < 0.15) {
      this.troubles.errors += 1
      throw new ApiError('internal', 'an error made by the test')
    }
    if (fate < 0.3) await sleep(this.#random() * 20)
    const answer = await write()
    if (fate < 0.85) return answer
    this.troubles.lostAnswers += 1
    throw new ApiError('unavailable', 'an answer lost by the test')
  }
}
