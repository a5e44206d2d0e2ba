import { readLayout } from '../../wire/message.ts'
import type { UpstreamAnswer } from '../resolver-handler.ts'
import type { CacheKind } from './lifetime.ts'

interface CachedTimes {
  readonly storedAtMs: number
  readonly expiresAtMs: number
}

/**
 * One cached message of an upstream. Its bytes are kept as a string of one byte a character: that is one object, without memory outside V8's heap
 * and without the layout's objects, so that thousands of answers that come and go leave its collector little to do.
 */
export class CachedAnswer {
  readonly kind: CacheKind
  readonly storedAtMs: number
  readonly expiresAtMs: number
  /** The low 4 bits of the rcode. */
  readonly rcode: number
  readonly recordCount: number
  /** How often the answer was used with no more than the prefetch duration between two uses. */
  hits = 0
  lastHitMs: number
  /** When the upstreams last failed to give a newer answer; undefined where they did not fail. */
  failedAtMs: number | undefined = undefined
  readonly #bytes: string

  constructor({ message, layout }: UpstreamAnswer, kind: CacheKind, { storedAtMs, expiresAtMs }: CachedTimes) {
    this.kind = kind
    // Whole numbers are no objects of V8's heap.
    this.storedAtMs = Math.floor(storedAtMs)
    this.expiresAtMs = Math.floor(expiresAtMs)
    this.rcode = layout.rcode
    this.recordCount = layout.records.length
    this.lastHitMs = this.storedAtMs
    this.#bytes = message.toString('latin1')
  }

  /** Bytes of the message. */
  get length(): number {
    return this.#bytes.length
  }

  /** Decodes the message, with the TTLs that clients may see. */
  read(): UpstreamAnswer {
    const message = Buffer.from(this.#bytes, 'latin1')
    return { message, layout: readLayout(message, message.length) }
  }
}
