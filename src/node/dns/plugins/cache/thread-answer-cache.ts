import { LRUCache } from 'lru-cache'
import type { Series } from '../../metrics/series.ts'
import { type MessageLayout, readLayout } from '../../wire/message.ts'
import type { Query } from '../../wire/query.ts'
import { writeRawReply } from '../../wire/raw.ts'
import type { CachedCopy } from '../handler.ts'
import type { CacheKind } from './lifetime.ts'
import { copySeries } from './metrics.ts'
import { questionKey } from './question-key.ts'

/** Of one block's cache, as a thread that keeps copies has to know it; plain data. */
export interface ThreadCacheSettings {
  /** Those that the cache is for: a label of its metrics. */
  readonly zones: readonly Uint8Array[]
  readonly keepTtl: boolean
}

interface Copy {
  readonly message: Buffer
  readonly layout: MessageLayout
  readonly kind: CacheKind
  readonly storedAtMs: number
  readonly expiresAtMs: number
}

const maxCopies = 5_000
/** Of one block in one thread. */
const maxBytes = 4 * 1024 * 1024
const bytesPerRecord = 120
const bytesPerCopy = 400

/**
 * Copies of what the cache of another thread holds, so that a name that is asked for often is answered without asking there. A copy is given
 * as long as the cache would give its own, each record as old as there; what is too old, and everything else, is the cache's to answer.
 */
export class ThreadAnswerCache {
  readonly #settings: ThreadCacheSettings
  readonly #copies = new LRUCache<string, Copy>({
    max: maxCopies,
    maxSize: maxBytes,
    sizeCalculation: ({ message, layout }, key) =>
      message.length + key.length + layout.records.length * bytesPerRecord + bytesPerCopy,
  })
  readonly #hits: Record<CacheKind, number>

  /** `before` is what served the block until now: what it counted goes on, its copies may be none of a changed cache. */
  constructor(settings: ThreadCacheSettings, before?: ThreadAnswerCache) {
    this.#settings = settings
    this.#hits = before === undefined ? { success: 0, denial: 0 } : { ...before.#hits }
  }

  put(query: Query, { message, kind, ageMs, leftMs }: CachedCopy): void {
    const nowMs = performance.now()
    const bytes = Buffer.from(message)
    const layout = readLayout(bytes, bytes.length)
    const times = { storedAtMs: nowMs - ageMs, expiresAtMs: nowMs + leftMs }
    this.#copies.set(questionKey(query), { message: bytes, layout, kind, ...times })
  }

  /** Writes the answer into `out`, of `limit` bytes at most: its length and where its records are, or undefined where there is no copy. */
  answer(
    query: Query,
    out: Buffer,
    limit: number,
  ): { readonly length: number; readonly layout: MessageLayout } | undefined {
    if (this.#copies.size === 0) return undefined
    const key = questionKey(query)
    const copy = this.#copies.get(key)
    if (copy === undefined) return undefined
    const nowMs = performance.now()
    if (copy.expiresAtMs <= nowMs) {
      this.#copies.delete(key)
      return undefined
    }
    this.#hits[copy.kind] += 1
    const ageSeconds = this.#settings.keepTtl ? 0 : Math.floor((nowMs - copy.storedAtMs) / 1000)
    return { length: writeRawReply(query, copy.message, copy.layout, out, { limit, ageSeconds }), layout: copy.layout }
  }

  series({ server }: { readonly server: string }): Iterable<Series> {
    return copySeries({ server, zones: this.#settings.zones }, this.#hits, this.#copies.calculatedSize)
  }
}
