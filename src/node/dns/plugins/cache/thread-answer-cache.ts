import { LRUCache } from 'lru-cache'
import type { Series } from '../../metrics/series.ts'
import { type MessageLayout, readLayout } from '../../wire/message.ts'
import type { Query } from '../../wire/query.ts'
import { questionKey } from '../../wire/question-key.ts'
import { writeRawReply } from '../../wire/raw.ts'
import type { CachedCopy } from '../handler.ts'
import type { CacheKind } from './lifetime.ts'
import { copySeries } from './metrics.ts'

/** The settings of one block's cache that serving threads need; plain data. */
export interface ThreadCacheSettings {
  /** The zones that are cached: a label of the metrics. */
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
/** The most bytes of one block's copies on one thread. */
const maxBytes = 4 * 1024 * 1024
const bytesPerRecord = 120
const bytesPerCopy = 400

/**
 * Copies of what the cache of the resolver holds, so that a name that is asked for often is answered without asking it. A copy
 * is given as long as the cache would give its own answer, with the same TTLs. All other questions go to the cache.
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

  /** `before` is the same block before a reload. Its counts are kept; its copies are not, because the cache may be configured otherwise. */
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

  /** Writes the answer into `out`, at most `limit` bytes. Returns its length and layout, or undefined where there is no copy. */
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
