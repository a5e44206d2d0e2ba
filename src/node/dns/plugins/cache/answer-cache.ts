import { LRUCache } from 'lru-cache'
import type { MessageLayout } from '../../wire/message.ts'
import { CachedAnswer } from './cached-answer.ts'
import { boundTtls, type CacheKind, isFailure, lifetimeOf } from './lifetime.ts'
import type { CacheSettings } from './settings.ts'

/** The counters of the cache. */
export interface CacheCounts {
  hits: Record<CacheKind, number>
  misses: number
  prefetches: number
  drops: number
  servedStale: number
  evictions: Record<CacheKind, number>
}

function emptyCounts(): CacheCounts {
  return {
    hits: { success: 0, denial: 0 },
    misses: 0,
    prefetches: 0,
    drops: 0,
    servedStale: 0,
    evictions: { success: 0, denial: 0 },
  }
}

/** How long an answer is kept after it expired, for when no upstream answers (RFC 8767 5). */
const keptStaleMs = 3_600_000

const bytesPerRecord = 120
const bytesPerEntry = 400

/** Messages of upstreams by question. The least recently used is dropped first when a side has no more bytes or entries. */
export class AnswerCache {
  readonly counts: CacheCounts = emptyCounts()
  #settings: CacheSettings
  readonly #sides: Readonly<Record<CacheKind, LRUCache<string, CachedAnswer>>>

  constructor(settings: CacheSettings, maxBytes: number) {
    this.#settings = settings
    this.#sides = {
      success: this.#createSide('success', settings.success.capacity, maxBytes * 0.75),
      denial: this.#createSide('denial', settings.denial.capacity, maxBytes * 0.25),
    }
  }

  get settings(): CacheSettings {
    return this.#settings
  }

  /** Changes the settings. Cached answers stay; capacities are those of the start. */
  changeSettings(settings: CacheSettings): void {
    this.#settings = settings
  }

  entries(kind: CacheKind): number {
    return this.#sides[kind].size
  }

  get bytes(): number {
    return this.#sides.success.calculatedSize + this.#sides.denial.calculatedSize
  }

  /**
   * Finds an answer, expired or not. A positive one comes before a newer denial that is only a failure, or before any denial where the settings
   * prefer it.
   */
  find(key: string, nowMs: number): CachedAnswer | undefined {
    const success = this.#sides.success.get(key)
    const denial = this.#sides.denial.get(key)
    if (success && this.#prefers(success, nowMs)) return success
    if (success && denial) return success.expiresAtMs > nowMs || isFailure(denial.rcode) ? success : denial
    return success ?? denial
  }

  /** Caches the message if that is allowed. Returns its layout with the TTLs that clients may see. */
  put(key: string, message: Buffer, found: MessageLayout, nowMs: number): MessageLayout {
    const lifetime = lifetimeOf(message, found, this.#settings, Math.floor(Date.now() / 1000))
    if (lifetime === undefined) {
      this.counts.drops += 1
      return found
    }
    const { kind, ms } = lifetime
    const layout = boundTtls(message, found, this.#settings[kind])
    const times = { storedAtMs: nowMs, expiresAtMs: nowMs + ms }
    this.#sides[kind].set(key, new CachedAnswer({ message, layout }, kind, times))
    const isKept = kind === 'denial' && this.#settings.serveStale?.prefersPositive === true
    if (!isFailure(layout.rcode) && !isKept) this.#sides[kind === 'success' ? 'denial' : 'success'].delete(key)
    return layout
  }

  #prefers(success: CachedAnswer, nowMs: number): boolean {
    const { serveStale } = this.#settings
    return serveStale?.prefersPositive === true && isUsableStale(success, nowMs, serveStale.forMs)
  }

  /** Counts a use. Returns true when the answer is popular and near its end, so that it should be fetched again. */
  touch(answer: CachedAnswer, nowMs: number): boolean {
    this.counts.hits[answer.kind] += 1
    const { prefetch } = this.#settings
    if (prefetch === undefined) return false
    answer.hits = nowMs - answer.lastHitMs > prefetch.withinMs ? 1 : answer.hits + 1
    answer.lastHitMs = nowMs
    const lifeMs = answer.expiresAtMs - answer.storedAtMs
    return answer.hits >= prefetch.amount && answer.expiresAtMs - nowMs <= (lifeMs * prefetch.percentage) / 100
  }

  #createSide(kind: CacheKind, capacity: number, maxBytes: number): LRUCache<string, CachedAnswer> {
    return new LRUCache<string, CachedAnswer>({
      // The LRU allocates this many entries at once, and the bytes run out before.
      max: Math.max(1, Math.min(capacity, Math.ceil(maxBytes / bytesPerEntry))),
      maxSize: Math.max(1, Math.floor(maxBytes)),
      sizeCalculation: ({ length, recordCount }, key) =>
        length + key.length + recordCount * bytesPerRecord + bytesPerEntry,
      dispose: (_, __, reason) => {
        if (reason === 'evict') this.counts.evictions[kind] += 1
      },
    })
  }
}

/** Returns whether an expired answer may still be given in place of an upstream's. */
export function isUsableStale(answer: CachedAnswer, nowMs: number, forMs = keptStaleMs): boolean {
  return nowMs - answer.expiresAtMs <= forMs && !isFailure(answer.rcode)
}
