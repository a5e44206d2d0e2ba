import { randomInt } from 'node:crypto'
import { describeError } from '../../../../model/errors.ts'
import type { Span } from '../../../../observe/tracing/tracer.ts'
import type { Query } from '../../wire/query.ts'
import type { UpstreamAnswer } from '../resolver-handler.ts'
import { restoreCase } from './case-randomization.ts'
import type { ReplySink } from './pending-queries.ts'
import type { ForwardSettings } from './settings.ts'
import { type QueryMaker, Upstream, type UpstreamEvents } from './upstream.ts'
import { readUpstreamAnswer } from './upstream-answer.ts'
import { UpstreamError } from './upstream-error.ts'
import { UpstreamOrder } from './upstream-order.ts'
import { makeUpstreamQuery } from './upstream-query.ts'

const totalTimeoutMs = 5_000
/** The delay before the third attempt at an upstream and each one after it, so that one that refuses at once is not asked in a busy loop. */
const furtherAttemptAfterMs = 50

/** A client's query for an upstream. Its bytes stay as they are until it is answered. */
export interface ForwardedQuery {
  readonly query: Query
  readonly overTcp: boolean
  readonly span: Span
}

/** Receives the answer to one query, or the reason why there is none. */
export interface AnswerSink {
  onAnswer(answer: UpstreamAnswer): void
  onFailure(error: unknown): void
}

/** The upstreams of one `forward`. They are asked one after the other until one answers, for 5 s at most. */
export class Forwarder {
  readonly upstreams: readonly Upstream[]
  readonly #settings: ForwardSettings
  readonly #order: UpstreamOrder
  readonly #onBroken: () => void

  constructor(settings: ForwardSettings, events: UpstreamEvents & { readonly onBroken: () => void }) {
    this.#settings = settings
    this.#order = new UpstreamOrder(settings.policy)
    this.#onBroken = events.onBroken
    this.upstreams = settings.targets.map((target) => new Upstream(target, settings, events))
  }

  get allDown(): boolean {
    return this.#usable().every(({ isDown }) => isDown)
  }

  /** The sink receives the upstream's message in the client's case, with an ID of our own, or an UpstreamError. */
  ask(forwarded: ForwardedQuery, sink: AnswerSink): void {
    let candidates: readonly Upstream[]
    try {
      candidates = this.#candidates()
    } catch (error) {
      return void sink.onFailure(error)
    }
    new Attempts(forwarded, sink, this.#settings).start(candidates, this.#attempts(candidates))
  }

  close(): void {
    for (const upstream of this.upstreams) upstream.close()
  }

  #usable(): readonly Upstream[] {
    return this.upstreams.every(isUsable) ? this.upstreams : this.upstreams.filter(isUsable)
  }

  /**
   * Returns how many attempts a query gets. Upstreams that are up get a second round, because a single lost datagram is no reason to give up;
   * those that are down do not.
   */
  #attempts(candidates: readonly Upstream[]): number {
    const { maxConnectAttempts = 2 * candidates.length } = this.#settings
    if (candidates[0]?.isDown === true) return candidates.length
    return maxConnectAttempts === 0 ? Number.POSITIVE_INFINITY : maxConnectAttempts
  }

  #candidates(): readonly Upstream[] {
    const usable = this.#usable()
    const up = this.#order.next(usable)
    if (up.length > 0) return up
    const [first] = this.upstreams
    if (usable.length === 0) {
      const because = first?.disabledBecause ?? 'there is none'
      throw new UpstreamError('loop', `no upstream can be asked: ${because}`)
    }
    this.#onBroken()
    if (this.#settings.failfastAllUnhealthy) throw new UpstreamError('all-down', 'every upstream is down')
    return usable.slice(randomInt(usable.length)).slice(0, 1)
  }
}

function isUsable({ disabledBecause }: Upstream): boolean {
  return disabledBecause === undefined
}

/** The attempts of one query. Each ends as a sink, without promises: thousands of queries a second pass here. */
class Attempts implements ReplySink, QueryMaker {
  readonly #forwarded: ForwardedQuery
  readonly #sink: AnswerSink
  readonly #settings: ForwardSettings
  readonly #deadlineMs = performance.now() + totalTimeoutMs
  #candidates: readonly Upstream[] = []
  #most = 0
  #made = 0
  #span: Span | undefined
  #failure: unknown
  /** The last answer that is for another upstream. */
  #unwanted: UpstreamAnswer | undefined

  constructor(forwarded: ForwardedQuery, sink: AnswerSink, settings: ForwardSettings) {
    this.#forwarded = forwarded
    this.#sink = sink
    this.#settings = settings
  }

  /** Asks the upstreams in this order, at most `most` times. */
  start(candidates: readonly Upstream[], most: number): void {
    this.#candidates = candidates
    this.#most = most
    this.#askNext()
  }

  makeQuery(withEdns: boolean): Buffer {
    return makeUpstreamQuery(this.#forwarded.query, withEdns)
  }

  onReply(reply: Buffer): void {
    this.#endSpan()
    let answer: UpstreamAnswer
    try {
      answer = readUpstreamAnswer(reply)
    } catch (error) {
      return void this.#askOn(error)
    }
    if (!this.#settings.failover.includes(answer.layout.rcode)) return void this.#give(answer)
    this.#unwanted = answer
    this.#askNext()
  }

  onFailure(error: unknown): void {
    this.#endSpan(error)
    this.#askOn(error)
  }

  #askOn(failure: unknown): void {
    this.#failure = failure
    this.#askNext()
  }

  #askNext(): void {
    const candidates = this.#candidates
    const made = this.#made
    const upstream = candidates[made % candidates.length]
    if (upstream === undefined || made >= this.#most || performance.now() >= this.#deadlineMs)
      return void this.#giveUp()
    this.#made += 1
    if (made < 2 * candidates.length) this.#ask(upstream)
    else setTimeout(() => this.#ask(upstream), furtherAttemptAfterMs)
  }

  #ask(upstream: Upstream): void {
    const { span, overTcp } = this.#forwarded
    if (span.isRecorded)
      this.#span = span.child('ask upstream', { kind: 'client', attributes: { 'server.address': upstream.name } })
    const { forceTcp, preferUdp } = this.#settings
    upstream.ask(this, forceTcp || (overTcp && !preferUdp), this)
  }

  #endSpan(error?: unknown): void {
    this.#span?.end(error === undefined ? {} : { error: describeError(error) })
    this.#span = undefined
  }

  #give(answer: UpstreamAnswer): void {
    restoreCase(answer.message, answer.layout, this.#forwarded.query)
    this.#sink.onAnswer(answer)
  }

  #giveUp(): void {
    if (this.#unwanted !== undefined) return void this.#give(this.#unwanted)
    const cause = this.#failure
    const isOurs = cause instanceof UpstreamError
    this.#sink.onFailure(isOurs ? cause : new UpstreamError('timeout', 'no upstream answered in time', { cause }))
  }
}
