import { setTimeout as sleep } from 'node:timers/promises'
import { SingleFlight } from '../../../loop/single-flight.ts'
import { AnswerCache, type CachedAnswer, isUsableStale } from '../plugins/cache/answer-cache.ts'
import { isFailure } from '../plugins/cache/lifetime.ts'
import { questionKey } from '../plugins/cache/question-key.ts'
import type { ServeStale } from '../plugins/cache/settings.ts'
import { restoreCase } from '../plugins/forward/case-randomization.ts'
import { Forwarder } from '../plugins/forward/forwarder.ts'
import { QueryLimiter } from '../plugins/forward/query-limiter.ts'
import type { UpstreamEvents } from '../plugins/forward/upstream.ts'
import type { UpstreamAnswer } from '../plugins/forward/upstream-answer.ts'
import { makeUpstreamQuery } from '../plugins/forward/upstream-query.ts'
import type { Answer, CachedCopy } from '../plugins/handler.ts'
import { LoopProbes } from '../plugins/loop/loop-probes.ts'
import { followAliases } from '../wire/aliases.ts'
import { rcode } from '../wire/codes.ts'
import type { MessageLayout } from '../wire/message.ts'
import { isUnder } from '../wire/name.ts'
import type { Query } from '../wire/query.ts'
import { writeRawReply } from '../wire/raw.ts'
import { writeError } from '../wire/response.ts'
import type { ForwardRule, ResolverSettings } from './settings.ts'

/** A question that is not answered from the cluster's names. */
export interface ResolverQuery {
  readonly query: Query
  /** The address of the client: the queries in progress are shared out among clients. */
  readonly client: string
  readonly overTcp: boolean
  /** The most bytes of the answer. */
  readonly limit: number
}

export interface ResolverAnswer {
  /** The answer to the query; undefined where the client gets none. */
  readonly message: Buffer | undefined
  readonly plugin: Answer['plugin']
  /** How long the answer has been cached. */
  readonly ageMs: number
  /** A copy of the cached answer, where a serving thread may give it again. */
  readonly copy?: CachedCopy
}

export interface ResolverEvents extends UpstreamEvents {
  readonly onBroken: () => void
  readonly onRejected: () => void
  readonly onFailure: (query: Query, error: unknown) => void
  readonly onLoop: (upstream: string) => void
  readonly onLoopEnd: (upstream: string) => void
}

/** The most bytes of one block's cache. */
const cacheBytes = 24 * 1024 * 1024

/** The TTL of an expired answer that is given because no upstream answers (RFC 8767 4). */
const staleTtlSeconds = 30

/** How long a replaced resolver lives on; no query waits longer. */
const retireAfterMs = 10_000

interface ActiveForward {
  readonly rule: ForwardRule
  readonly forwarder: Forwarder
  readonly limiter: QueryLimiter
  readonly loops: LoopProbes | undefined
}

/** The plugins of one server block on the resolver thread: loop, cache, then forward. */
export class BlockResolver {
  readonly cache: AnswerCache | undefined
  readonly #settings: ResolverSettings
  readonly #events: ResolverEvents
  readonly #forwards: readonly ActiveForward[]
  readonly #flights = new SingleFlight<UpstreamAnswer>()

  /** `before` is the resolver of the same block before a reload. Its cache is kept. */
  constructor(settings: ResolverSettings, events: ResolverEvents, before?: BlockResolver) {
    this.#settings = settings
    this.#events = events
    this.cache = settings.cache && takeCache(settings.cache.settings, before?.cache)
    this.#forwards = settings.forwards.map((rule) => this.#activate(rule))
  }

  start(): void {
    for (const { loops } of this.#forwards) loops?.start()
  }

  close(): void {
    for (const { forwarder, loops } of this.#forwards) {
      loops?.stop()
      forwarder.close()
    }
  }

  /** Closes after the queries in progress have their answers. */
  retire(): void {
    for (const { loops } of this.#forwards) loops?.stop()
    setTimeout(() => this.close(), retireAfterMs).unref()
  }

  resolve(request: ResolverQuery): ResolverAnswer | Promise<ResolverAnswer> {
    const { query } = request
    if (this.#forwards.some(({ loops }) => loops?.isOurs(query)))
      return { message: undefined, plugin: 'loop', ageMs: 0 }
    const { cache } = this
    if (cache === undefined || !this.#isCached(query)) return this.#ask(request, questionKey(query), undefined)
    const key = questionKey(query)
    const nowMs = performance.now()
    const cached = cache.find(key, nowMs)
    if (cached && cached.expiresAtMs > nowMs) return this.#hit(request, key, cached, nowMs)
    cache.counts.misses += 1
    return this.#resolveMiss(request, key, cached)
  }

  #isCached({ name }: Query): boolean {
    return this.#settings.cache?.zones.some((zone) => isUnder(name, zone)) === true
  }

  #activate(rule: ForwardRule): ActiveForward {
    const forwarder = new Forwarder(rule.settings, this.#events)
    const { loopZone } = this.#settings
    const loops =
      loopZone &&
      new LoopProbes(loopZone, forwarder.upstreams, {
        onLoop: ({ name }) => this.#events.onLoop(name),
        onEnd: ({ name }) => this.#events.onLoopEnd(name),
      })
    return { rule, forwarder, limiter: new QueryLimiter(rule.settings.maxConcurrent), loops }
  }

  #hit(request: ResolverQuery, key: string, cached: CachedAnswer, nowMs: number): ResolverAnswer {
    if (this.cache?.touch(cached, nowMs)) this.#refresh(request, key, { isPrefetch: true })
    return fromCache(request, cached, nowMs, this.#settings.cache?.settings.keepTtl === true)
  }

  #resolveMiss(
    request: ResolverQuery,
    key: string,
    cached: CachedAnswer | undefined,
  ): ResolverAnswer | Promise<ResolverAnswer> {
    const nowMs = performance.now()
    const serveStale = this.#settings.cache?.settings.serveStale
    const isAllowed = cached !== undefined && serveStale !== undefined && isUsableStale(cached, nowMs, serveStale.forMs)
    const stale = cached && (isAllowed || isUsableStale(cached, nowMs)) ? cached : undefined
    if (stale === undefined) return this.#ask(request, key, undefined)
    if (isAllowed && failedRecently(stale, serveStale, nowMs)) return this.#giveStale(request, stale)
    if (this.#findForward(request.query)?.forwarder.allDown || (isAllowed && serveStale.mode === 'immediate')) {
      this.#refresh(request, key, { stale })
      return this.#giveStale(request, stale)
    }
    const asked = this.#ask(request, key, stale)
    if (!isAllowed || serveStale.verifyTimeoutMs === 0) return asked
    const late = sleep(serveStale.verifyTimeoutMs, undefined, { ref: false }).then(() =>
      this.#giveStale(request, stale),
    )
    return Promise.race([asked, late])
  }

  #giveStale(request: ResolverQuery, { message, layout, expiresAtMs }: CachedAnswer): ResolverAnswer {
    if (this.cache) this.cache.counts.servedStale += 1
    const ttlSeconds = this.#settings.cache?.settings.serveStale?.ttlSeconds ?? staleTtlSeconds
    return {
      message: writeFor(request, { message, layout }, { ttlSeconds }),
      plugin: 'cache',
      ageMs: performance.now() - expiresAtMs,
    }
  }

  #findForward({ name }: Query): ActiveForward | undefined {
    return this.#forwards.find(({ rule }) => takes(rule, name))
  }

  /** Asks the upstreams, once for all clients with the same question. Takes one of the client's query slots meanwhile. */
  #ask(request: ResolverQuery, key: string, stale: CachedAnswer | undefined): ResolverAnswer | Promise<ResolverAnswer> {
    const forward = this.#findForward(request.query)
    if (forward === undefined) return failed(request, rcode.SERVFAIL, '')
    const { limiter } = forward
    return new Promise((resolve) => {
      const slot = limiter.take(request.client, () => resolve(this.#reject(request)))
      if (slot === undefined) return resolve(this.#reject(request))
      const done = (resolution: ResolverAnswer) => {
        limiter.release(slot)
        resolve(resolution)
      }
      this.#fetch(request, key, forward)
        .then((kept) => done(this.#give(request, kept, stale)))
        .catch((error: unknown) => done(this.#fail(request, error, stale)))
    })
  }

  /** Returns the fresh answer, or the stale one where that says more. */
  #give(request: ResolverQuery, fresh: UpstreamAnswer, stale: CachedAnswer | undefined): ResolverAnswer {
    const serveStale = this.#settings.cache?.settings.serveStale
    if (stale === undefined || serveStale === undefined || !isUsableStale(stale, performance.now(), serveStale.forMs))
      return { message: writeFor(request, fresh, {}), plugin: 'forward', ageMs: 0 }
    if (isFailure(fresh.layout.rcode)) noteFailure(stale)
    const isWorse = serveStale.prefersPositive && stale.kind === 'success' && !isPositive(fresh)
    if (isWorse || isFailure(fresh.layout.rcode)) return this.#giveStale(request, stale)
    return { message: writeFor(request, fresh, {}), plugin: 'forward', ageMs: 0 }
  }

  #fail(request: ResolverQuery, error: unknown, stale: CachedAnswer | undefined): ResolverAnswer {
    if (stale) noteFailure(stale)
    this.#events.onFailure(request.query, error)
    return stale ? this.#giveStale(request, stale) : failed(request, rcode.SERVFAIL, 'forward')
  }

  #reject(request: ResolverQuery): ResolverAnswer {
    this.#events.onRejected()
    return failed(request, rcode.REFUSED, 'forward')
  }

  #refresh(
    { query, overTcp }: ResolverQuery,
    key: string,
    { stale, isPrefetch = false }: { readonly stale?: CachedAnswer; readonly isPrefetch?: boolean },
  ): void {
    const forward = this.#findForward(query)
    if (forward === undefined) return
    if (isPrefetch && this.cache) this.cache.counts.prefetches += 1
    void this.#fetch({ query, overTcp }, key, forward)
      .then(({ layout }) => isFailure(layout.rcode))
      .catch(() => true)
      .then((failed) => failed && stale && noteFailure(stale))
  }

  #fetch(
    { query, overTcp }: Pick<ResolverQuery, 'query' | 'overTcp'>,
    key: string,
    forward: ActiveForward,
  ): Promise<UpstreamAnswer> {
    return this.#flights.run(key, async () => {
      const { message, layout } = await this.#askForwards(query, overTcp, forward)
      if (this.cache === undefined || !this.#isCached(query)) return { message, layout }
      return { message, layout: this.cache.put(key, message, layout, performance.now()) }
    })
  }

  /** Asks the first `forward`, then those after it while an answer is left to the next one. */
  async #askForwards(query: Query, overTcp: boolean, first: ActiveForward): Promise<UpstreamAnswer> {
    let current = first
    let kept = await askOne(current, query, overTcp)
    for (const next of this.#forwards.slice(this.#forwards.indexOf(first) + 1)) {
      if (!isForNext(current.rule, kept.layout)) break
      if (!takes(next.rule, query.name)) continue
      current = next
      kept = await askOne(current, query, overTcp)
    }
    return kept
  }
}

async function askOne({ forwarder }: ActiveForward, query: Query, overTcp: boolean): Promise<UpstreamAnswer> {
  const answer = await forwarder.ask({ make: (withEdns) => makeUpstreamQuery(query, withEdns), overTcp })
  restoreCase(answer.message, answer.layout, query.name)
  return answer
}

function noteFailure(stale: CachedAnswer): void {
  stale.failedAtMs = performance.now()
}

function failedRecently({ failedAtMs }: CachedAnswer, { recheckMs }: ServeStale, nowMs: number): boolean {
  return failedAtMs !== undefined && nowMs - failedAtMs < recheckMs
}

function isPositive({ message, layout }: UpstreamAnswer): boolean {
  return layout.rcode === rcode.NOERROR && followAliases(message, layout).isAnswered
}

function takes({ from, except }: ForwardRule, name: Uint8Array): boolean {
  return isUnder(name, from) && !except.some((zone) => isUnder(name, zone))
}

function isForNext({ next, nextOnNodata }: ForwardRule, { rcode: code, records }: MessageLayout): boolean {
  const isNodata = code === rcode.NOERROR && !records.some(({ section }) => section === 'answer')
  return next.includes(code) || (nextOnNodata && isNodata)
}

function takeCache(
  settings: Parameters<AnswerCache['changeSettings']>[0],
  before: AnswerCache | undefined,
): AnswerCache {
  if (before === undefined) return new AnswerCache(settings, cacheBytes)
  before.changeSettings(settings)
  return before
}

function fromCache(request: ResolverQuery, cached: CachedAnswer, nowMs: number, keepTtl: boolean): ResolverAnswer {
  const ageMs = nowMs - cached.storedAtMs
  const ageSeconds = keepTtl ? 0 : Math.floor(ageMs / 1000)
  const message = writeFor(request, cached, { ageSeconds })
  if (cached.layout.questionName === undefined || isFailure(cached.layout.rcode))
    return { message, plugin: 'cache', ageMs }
  const copy = { message: cached.message, kind: cached.kind, ageMs, leftMs: cached.expiresAtMs - nowMs }
  return { message, plugin: 'cache', ageMs, copy }
}

function writeFor(
  { query, limit }: ResolverQuery,
  { message, layout }: UpstreamAnswer,
  ttls: { readonly ageSeconds?: number; readonly ttlSeconds?: number },
): Buffer {
  if (layout.questionName === undefined) return writeFailure(query, layout.rcode)
  const out = Buffer.allocUnsafe(Math.min(limit, message.length + maxOptBytes))
  return out.subarray(0, writeRawReply(query, message, layout, out, { limit, ...ttls }))
}

/** The length of an answer's OPT record: 11 bytes and the options of the client that are echoed. */
const maxOptBytes = 11 + 512

function failed(request: ResolverQuery, code: number, plugin: ResolverAnswer['plugin']): ResolverAnswer {
  return { message: writeFailure(request.query, code), plugin, ageMs: 0 }
}

function writeFailure(query: Query, code: number): Buffer {
  const out = Buffer.allocUnsafe(query.questionEnd + maxOptBytes)
  return out.subarray(0, writeError(query, out, code))
}
