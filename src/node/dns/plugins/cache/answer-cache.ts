import type { MessageLayout } from '../../wire/message.ts'
import type { Query } from '../../wire/query.ts'
import { AnswerStore } from './answer-store.ts'
import type { CachedAnswer } from './cached-answer.ts'
import { boundTtls, type CacheKind, isFailure, lifetimeOf } from './lifetime.ts'
import type { CacheSettings, CacheSide } from './settings.ts'

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

/** The part of the memory that each side may take. */
const shares: Readonly<Record<CacheKind, number>> = { success: 0.75, denial: 0.25 }

/** How long an answer is kept after it expired, for when no upstream answers (RFC 8767 5). */
const keptStaleMs = 3_600_000

/** Messages of upstreams by question. The least recently used is dropped first when a side has no more bytes or entries. */
export class AnswerCache {
  readonly counts: CacheCounts = emptyCounts()
  #settings: CacheSettings
  readonly #maxBytes: number
  readonly #sides: Record<CacheKind, AnswerStore>

  constructor(settings: CacheSettings, maxBytes: number) {
    this.#settings = settings
    this.#maxBytes = maxBytes
    this.#sides = { success: this.#createSide('success'), denial: this.#createSide('denial') }
  }

  get settings(): CacheSettings {
    return this.#settings
  }

  /** Changes the settings. Cached answers stay, but not those of a side whose settings differ: they were kept by the other ones. */
  changeSettings(settings: CacheSettings): void {
    const before = this.#settings
    this.#settings = settings
    for (const kind of ['success', 'denial'] as const)
      if (!isSameSide(before[kind], settings[kind])) this.#sides[kind] = this.#createSide(kind)
  }

  entries(kind: CacheKind): number {
    return this.#sides[kind].size
  }

  get bytes(): number {
    return this.#sides.success.bytes + this.#sides.denial.bytes
  }

  /**
   * Finds an answer, expired or not. A positive one comes before a newer denial that is only a failure, or before any denial where the settings
   * prefer it.
   */
  find(query: Query, nowMs: number): CachedAnswer | undefined {
    const success = this.#findOn('success', query)
    if (success && this.#prefers(success, nowMs)) return success
    const denial = this.#findOn('denial', query)
    if (success && denial) return success.expiresAtMs > nowMs || isFailure(denial.rcode) ? success : denial
    return success ?? denial
  }

  /** Caches the message if that is allowed. Returns its layout with the TTLs that clients may see. */
  put(query: Query, message: Buffer, found: MessageLayout, nowMs: number): MessageLayout {
    const lifetime = this.#saysLess(query, found, nowMs)
      ? undefined
      : lifetimeOf(message, found, this.#settings, Math.floor(Date.now() / 1000))
    if (lifetime === undefined) {
      this.counts.drops += 1
      return found
    }
    const { kind, ms } = lifetime
    const layout = boundTtls(message, found, this.#settings[kind])
    const times = { storedAtMs: nowMs, expiresAtMs: nowMs + ms }
    this.#sides[kind].put(query, message, times)
    const isKept = kind === 'denial' && this.#settings.serveStale?.prefersPositive === true
    const other = this.#sides[kind === 'success' ? 'denial' : 'success']
    if (!isFailure(layout.rcode) && !isKept) other.delete(other.find(query))
    return layout
  }

  /** Returns whether the answer is only a failure, and a denial is there that holds, or that `serve_stale` gives in its place. */
  #saysLess(query: Query, found: MessageLayout, nowMs: number): boolean {
    if (!isFailure(found.rcode)) return false
    const { denial } = this.#sides
    const entry = denial.find(query)
    if (entry === 0 || isFailure(denial.rcode(entry))) return false
    return nowMs - denial.expiresAtMs(entry) <= (this.#settings.serveStale?.forMs ?? 0)
  }

  #prefers(success: CachedAnswer, nowMs: number): boolean {
    const { serveStale } = this.#settings
    return serveStale?.prefersPositive === true && isUsableStale(success, nowMs, serveStale.forMs)
  }

  /** Counts a use of what `find` gave. Returns true when the answer is popular and near its end, so that it should be fetched again. */
  touch(query: Query, kind: CacheKind, nowMs: number): boolean {
    this.counts.hits[kind] += 1
    const { prefetch } = this.#settings
    if (prefetch === undefined) return false
    const side = this.#sides[kind]
    const entry = side.find(query)
    const hits = side.hit(entry, nowMs, prefetch.withinMs)
    const lifeMs = side.expiresAtMs(entry) - side.storedAtMs(entry)
    return hits >= prefetch.amount && side.expiresAtMs(entry) - nowMs <= (lifeMs * prefetch.percentage) / 100
  }

  /** Notes that the upstreams gave nothing newer than this answer. */
  noteFailure(query: Query, { kind }: CachedAnswer): void {
    const entry = this.#sides[kind].find(query)
    if (entry !== 0) this.#sides[kind].noteFailure(entry, performance.now())
  }

  #findOn(kind: CacheKind, query: Query): CachedAnswer | undefined {
    const side = this.#sides[kind]
    const entry = side.find(query)
    if (entry === 0) return undefined
    side.use(entry)
    const message = Buffer.allocUnsafe(side.length(entry))
    side.copy(entry, message)
    return {
      kind,
      rcode: side.rcode(entry),
      storedAtMs: side.storedAtMs(entry),
      expiresAtMs: side.expiresAtMs(entry),
      failedAtMs: side.failedAtMs(entry),
      message,
    }
  }

  #createSide(kind: CacheKind): AnswerStore {
    const bytes = this.#maxBytes * shares[kind]
    return new AnswerStore({ entries: this.#settings[kind].capacity, bytes }, () => {
      this.counts.evictions[kind] += 1
    })
  }
}

function isSameSide(a: CacheSide, b: CacheSide): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** Returns whether an expired answer may still be given in place of an upstream's. */
export function isUsableStale(answer: CachedAnswer, nowMs: number, forMs = keptStaleMs): boolean {
  return nowMs - answer.expiresAtMs <= forMs && !isFailure(answer.rcode)
}
