import { describeError } from '../../../../model/errors.ts'
import { type Span, silentSpan } from '../../../../observe/tracing/tracer.ts'
import { rcode, rcodeName } from '../../wire/codes.ts'
import type { MessageLayout } from '../../wire/message.ts'
import type { Query } from '../../wire/query.ts'
import type { UpstreamAnswer } from '../resolver-handler.ts'
import { type AnswerSink, type ForwardedQuery, Forwarder } from './forwarder.ts'
import { QueryLimiter } from './query-limiter.ts'
import type { ForwardRule } from './settings.ts'
import type { Upstream, UpstreamEvents } from './upstream.ts'

export interface ForwarderEvents extends UpstreamEvents {
  /** Every upstream of a `forward` is down. */
  readonly onBroken: () => void
  /** Starts the span of a query to upstreams; absent: queries are not traced. */
  readonly startSpan?: (query: Query) => Span
}

/** One `forward` of a block with its upstreams and query slots. */
export interface ActiveForward {
  readonly rule: ForwardRule
  readonly forwarder: Forwarder
  readonly limiter: QueryLimiter
}

/** Every `forward` of one server block, in the order in which they are tried. */
export class ForwardList {
  readonly #forwards: readonly ActiveForward[]
  readonly #startSpan: (query: Query) => Span

  constructor(rules: readonly ForwardRule[], events: ForwarderEvents) {
    this.#startSpan = events.startSpan ?? (() => silentSpan)
    this.#forwards = rules.map((rule) => ({
      rule,
      forwarder: new Forwarder(rule.settings, events),
      limiter: new QueryLimiter(rule.settings.maxConcurrent),
    }))
  }

  /** The upstreams, by `forward`. */
  get upstreams(): readonly (readonly Upstream[])[] {
    return this.#forwards.map(({ forwarder }) => forwarder.upstreams)
  }

  close(): void {
    for (const { forwarder } of this.#forwards) forwarder.close()
  }

  /** Finds the first `forward` that takes the name. */
  find(query: Query): ActiveForward | undefined {
    for (const forward of this.#forwards) if (takes(forward.rule, query)) return forward
    return undefined
  }

  /** Asks the first `forward`, then those after it while an answer is left to the next one. The sink receives the answer or an UpstreamError. */
  ask(query: Query, overTcp: boolean, first: ActiveForward, sink: AnswerSink): void {
    const span = this.#startSpan(query)
    const asked = { query, overTcp, span }
    const traced = span.isRecorded ? tracedSink(span, sink) : sink
    const isLast = first.rule.next.length === 0 && !first.rule.nextOnNodata
    if (isLast) return void first.forwarder.ask(asked, traced)
    this.#askInTurn(asked, first).then(
      (answer) => traced.onAnswer(answer),
      (error: unknown) => traced.onFailure(error),
    )
  }

  async #askInTurn(asked: ForwardedQuery, first: ActiveForward): Promise<UpstreamAnswer> {
    let current = first
    let answer = await askOne(current, asked)
    for (const next of this.#forwards.slice(this.#forwards.indexOf(first) + 1)) {
      if (!isForNext(current.rule, answer.layout)) break
      if (!takes(next.rule, asked.query)) continue
      current = next
      answer = await askOne(current, asked)
    }
    return answer
  }
}

function tracedSink(span: Span, sink: AnswerSink): AnswerSink {
  return {
    onAnswer: (answer) => {
      span.set({ 'dns.response_code': rcodeName(answer.layout.rcode) })
      span.end()
      sink.onAnswer(answer)
    },
    onFailure: (error) => {
      span.end({ error: describeError(error) })
      sink.onFailure(error)
    },
  }
}

function askOne({ forwarder }: ActiveForward, asked: ForwardedQuery): Promise<UpstreamAnswer> {
  return new Promise((onAnswer, onFailure) => forwarder.ask(asked, { onAnswer, onFailure }))
}

function takes({ from, except }: ForwardRule, query: Query): boolean {
  return query.isUnder(from) && !except.some((zone) => query.isUnder(zone))
}

function isForNext({ next, nextOnNodata }: ForwardRule, { rcode: code, records }: MessageLayout): boolean {
  const isNodata = code === rcode.NOERROR && !records.some(({ section }) => section === 'answer')
  return next.includes(code) || (nextOnNodata && isNodata)
}
