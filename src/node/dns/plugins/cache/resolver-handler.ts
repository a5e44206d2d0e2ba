import { setTimeout as sleep } from 'node:timers/promises'
import type { Series } from '../../metrics/series.ts'
import type { Query } from '../../wire/query.ts'
import type { ForwardList } from '../forward/forward-list.ts'
import type { KeepAnswer, Resolution, ResolverHandler, ResolverNext, ResolverQuestion } from '../resolver-handler.ts'
import { AnswerCache, isUsableStale } from './answer-cache.ts'
import { type CachedAnswer, readCached } from './cached-answer.ts'
import { isFailure } from './lifetime.ts'
import { cacheSeries } from './metrics.ts'
import type { CachePlugin, ServeStale } from './settings.ts'
import { failedRecently, isUnanswered, isWorse, staleMessage } from './stale-answer.ts'

/** The most bytes of one block's cache. */
const cacheBytes = 24 * 1024 * 1024

/** Gives answers of upstreams again while they are valid, and expired ones where no better answer comes. */
export class CacheResolverHandler implements ResolverHandler {
  readonly answers: AnswerCache
  readonly #plugin: CachePlugin
  readonly #forwards: ForwardList
  readonly #keep: KeepAnswer

  /** `before` is the handler of the same block before a reload. Its answers are kept. */
  constructor(plugin: CachePlugin, forwards: ForwardList, before?: CacheResolverHandler) {
    this.answers = before?.answers ?? new AnswerCache(plugin.settings, cacheBytes)
    this.answers.changeSettings(plugin.settings)
    this.#plugin = plugin
    this.#forwards = forwards
    this.#keep = (query, { message, layout }) => {
      return { message, layout: this.answers.put(query, message, layout, performance.now()) }
    }
  }

  series(server: string): Iterable<Series> {
    return cacheSeries({ server, zones: this.#plugin.zones }, this.answers)
  }

  resolve(question: ResolverQuestion, next: ResolverNext): Resolution | undefined {
    const { query } = question
    if (!this.#takes(query)) return next(question)
    const nowMs = performance.now()
    const cached = this.answers.find(query, nowMs)
    if (cached !== undefined && cached.expiresAtMs > nowMs) return this.#hit(question, next, cached, nowMs)
    this.answers.counts.misses += 1
    return cached === undefined ? next(question, this.#keep) : this.#resolveExpired(question, next, cached, nowMs)
  }

  #takes(query: Query): boolean {
    for (const zone of this.#plugin.zones) if (query.isUnder(zone)) return true
    return false
  }

  #hit(question: ResolverQuestion, next: ResolverNext, cached: CachedAnswer, nowMs: number): Resolution {
    if (this.answers.touch(question.query, cached.kind, nowMs)) this.#prefetch(question, next)
    const { kind, storedAtMs, expiresAtMs } = cached
    const { message, layout } = readCached(cached)
    const ageMs = nowMs - storedAtMs
    const isCopied = !isFailure(cached.rcode)
    return {
      kind: 'message',
      plugin: 'cache',
      message,
      layout,
      ageMs,
      ageSeconds: this.#plugin.settings.keepTtl ? 0 : Math.floor(ageMs / 1000),
      ttlSeconds: undefined,
      copy: isCopied ? { message, kind, ageMs, leftMs: expiresAtMs - nowMs } : undefined,
    }
  }

  #prefetch(question: ResolverQuestion, next: ResolverNext): void {
    if (this.#forwards.find(question.query) === undefined) return
    this.answers.counts.prefetches += 1
    void askAsServer(question, next, this.#keep)
  }

  #resolveExpired(
    question: ResolverQuestion,
    next: ResolverNext,
    expired: CachedAnswer,
    nowMs: number,
  ): Resolution | undefined {
    const serveStale = this.#serveStaleOf(expired, nowMs)
    if (serveStale === undefined && !isUsableStale(expired, nowMs)) return next(question, this.#keep)
    if (serveStale !== undefined && failedRecently(expired, serveStale, nowMs)) return this.#giveStale(expired)
    const isDown = this.#forwards.find(question.query)?.forwarder.allDown === true
    if (isDown || serveStale?.mode === 'immediate') {
      void this.#renew(question, next, expired)
      return this.#giveStale(expired)
    }
    void this.#verifyInTime(question, next, expired, serveStale?.verifyTimeoutMs ?? 0).then((resolution) =>
      question.done(resolution),
    )
    return undefined
  }

  async #verifyInTime(
    question: ResolverQuestion,
    next: ResolverNext,
    expired: CachedAnswer,
    waitMs: number,
  ): Promise<Resolution> {
    const verified = this.#verify(question, next, expired)
    if (waitMs === 0) return verified
    const inTime = await Promise.race([verified, sleep(waitMs, undefined, { ref: false })])
    return inTime ?? this.#giveStale(expired)
  }

  /** Returns the settings of `serve_stale` where they cover the expired answer. */
  #serveStaleOf(expired: CachedAnswer, nowMs: number): ServeStale | undefined {
    const { serveStale } = this.#plugin.settings
    return serveStale && isUsableStale(expired, nowMs, serveStale.forMs) ? serveStale : undefined
  }

  #giveStale(stale: CachedAnswer): Resolution {
    this.answers.counts.servedStale += 1
    return staleMessage(stale, this.#plugin.settings.serveStale)
  }

  async #renew(question: ResolverQuestion, next: ResolverNext, stale: CachedAnswer): Promise<void> {
    if (isUnanswered(await askAsServer(question, next, this.#keep))) this.answers.noteFailure(question.query, stale)
  }

  /** Returns the fresh answer, or the stale one where that says more. */
  async #verify(question: ResolverQuestion, next: ResolverNext, stale: CachedAnswer): Promise<Resolution> {
    const fresh = await ask(question, question.client, next, this.#keep)
    const serveStale = this.#serveStaleOf(stale, performance.now())
    if (fresh.kind === 'message' && serveStale === undefined) return fresh
    if (isUnanswered(fresh)) {
      this.answers.noteFailure(question.query, stale)
      return this.#giveStale(stale)
    }
    if (fresh.kind === 'message' && serveStale !== undefined && isWorse(fresh, stale, serveStale))
      return this.#giveStale(stale)
    return fresh
  }
}

/** Passes the question on. */
function ask(
  { query, overTcp }: ResolverQuestion,
  client: string | undefined,
  next: ResolverNext,
  keep: KeepAnswer,
): Promise<Resolution> {
  return new Promise((done) => {
    const now = next({ query, overTcp, client, done }, keep)
    if (now !== undefined) done(now)
  })
}

/** Passes the question on without its client, so that it takes no query slot. */
function askAsServer(question: ResolverQuestion, next: ResolverNext, keep: KeepAnswer): Promise<Resolution> {
  return ask(question, undefined, next, keep)
}
