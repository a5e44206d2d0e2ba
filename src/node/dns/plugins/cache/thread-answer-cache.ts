import type { Series } from '../../metrics/series.ts'
import type { Query } from '../../wire/query.ts'
import { rewriteReply } from '../../wire/raw.ts'
import type { CachedCopy } from '../handler.ts'
import { AnswerStore } from './answer-store.ts'
import type { CacheKind } from './lifetime.ts'
import { copySeries } from './metrics.ts'

/** The settings of one block's cache that serving threads need; plain data. */
export interface ThreadCacheSettings {
  /** The zones that are cached: a label of the metrics. */
  readonly zones: readonly Uint8Array[]
  readonly keepTtl: boolean
}

const kinds = ['success', 'denial'] as const satisfies readonly CacheKind[]
/** How many copies one block has on one thread, and their bytes. */
const limits = { entries: 5_000, bytes: 4 * 1024 * 1024 }

/**
 * Copies of what the cache of the resolver holds, so that a name that is asked for often is answered without asking it. A copy
 * is given as long as the cache would give its own answer, with the same TTLs. All other questions go to the cache.
 */
export class ThreadAnswerCache {
  readonly #settings: ThreadCacheSettings
  readonly #copies = new AnswerStore(limits)
  readonly #hits: Record<CacheKind, number>

  /** `before` is the same block before a reload. Its counts are kept; its copies are not, because the cache may be configured otherwise. */
  constructor(settings: ThreadCacheSettings, before?: ThreadAnswerCache) {
    this.#settings = settings
    this.#hits = before === undefined ? { success: 0, denial: 0 } : { ...before.#hits }
  }

  put(query: Query, { message, kind, ageMs, leftMs }: CachedCopy): void {
    const nowMs = performance.now()
    const times = { storedAtMs: nowMs - ageMs, expiresAtMs: nowMs + leftMs }
    this.#copies.put(query, message, times, kinds.indexOf(kind))
  }

  /** Writes the answer into `out`, at most `limit` bytes. Returns its length, or 0 where there is no copy. */
  answer(query: Query, out: Buffer, limit: number): number {
    const copies = this.#copies
    const entry = copies.find(query)
    if (entry === 0) return 0
    const nowMs = performance.now()
    if (copies.expiresAtMs(entry) <= nowMs) {
      copies.delete(entry)
      return 0
    }
    copies.use(entry)
    this.#hits[kinds[copies.mark(entry)] ?? 'success'] += 1
    const ageSeconds = this.#settings.keepTtl ? 0 : Math.floor((nowMs - copies.storedAtMs(entry)) / 1000)
    return rewriteReply(query, out, copies.copy(entry, out), { limit, ageSeconds })
  }

  series({ server }: { readonly server: string }): Iterable<Series> {
    return copySeries({ server, zones: this.#settings.zones }, this.#hits, this.#copies.bytes)
  }
}
