import { flag, rcode } from '../../wire/codes.ts'
import type { Query } from '../../wire/query.ts'
import { isSameQuestion, questionHash } from '../../wire/question-hash.ts'
import type {
  KeepAnswer,
  Resolution,
  ResolverHandler,
  ResolverNext,
  ResolverQuestion,
  UpstreamAnswer,
} from '../resolver-handler.ts'
import type { ActiveForward, ForwardList } from './forward-list.ts'
import type { AnswerSink } from './forwarder.ts'
import type { QueryLimiter, QuerySlot } from './query-limiter.ts'

export interface ForwardHandlerEvents {
  /** A client has no free query slot. */
  readonly onRejected: () => void
  /** The upstreams gave a client no answer. */
  readonly onFailure: (query: Query, error: unknown) => void
}

/** Asks the upstreams of a block, once for all clients with the same question. */
export class ForwardResolverHandler implements ResolverHandler {
  readonly #forwards: ForwardList
  readonly #events: ForwardHandlerEvents
  /** The answers that are being asked for, by `runningKey`. */
  readonly #running = new Map<number, RunningQuery>()

  constructor(forwards: ForwardList, events: ForwardHandlerEvents) {
    this.#forwards = forwards
    this.#events = events
  }

  close(): void {
    this.#forwards.close()
  }

  resolve(question: ResolverQuestion, _: ResolverNext, keep?: KeepAnswer): Resolution | undefined {
    const forward = this.#forwards.find(question.query)
    if (forward === undefined) return { kind: 'code', plugin: '', rcode: rcode.SERVFAIL, because: 'no-upstream' }
    const waiting = new WaitingQuestion(question, forward.limiter, this.#events)
    if (question.client !== undefined && !forward.limiter.take(waiting)) return reject(this.#events)
    this.#wait(waiting, forward, keep)
    return undefined
  }

  #wait(waiting: WaitingQuestion, forward: ActiveForward, keep: KeepAnswer | undefined): void {
    const { query, overTcp } = waiting.question
    const key = runningKey(query)
    const known = this.#running.get(key)
    if (known?.isFor(query) === true) return void known.join(waiting)
    const running = new RunningQuery(this.#running, waiting, keep)
    // One of two questions with the same key is asked by itself.
    if (known === undefined) this.#running.set(key, running)
    try {
      this.#forwards.ask(query, overTcp, forward, running)
    } catch (error) {
      // Else all that ask this later would wait for an answer that cannot come.
      running.onFailure(error)
    }
  }
}

/** Returns the key of a question that may have an answer in common. One without RD has its own: a server answers it only with what it knows. */
function runningKey(query: Query): number {
  return questionHash(query) ^ (query.flags & flag.RD)
}

/** A question that the upstreams are being asked, and all that wait for its answer. */
class RunningQuery implements AnswerSink {
  readonly #running: Map<number, RunningQuery>
  readonly #keep: KeepAnswer | undefined
  readonly #first: WaitingQuestion
  #last: WaitingQuestion

  /** Leaves `running` when it has ended. */
  constructor(running: Map<number, RunningQuery>, first: WaitingQuestion, keep: KeepAnswer | undefined) {
    this.#running = running
    this.#keep = keep
    this.#first = first
    this.#last = first
  }

  isFor(query: Query): boolean {
    const own = this.#first.question.query
    return isSameQuestion(own, query) && (own.flags & flag.RD) === (query.flags & flag.RD)
  }

  join(waiting: WaitingQuestion): void {
    this.#last.next = waiting
    this.#last = waiting
  }

  onAnswer(fresh: UpstreamAnswer): void {
    const { query } = this.#first.question
    this.#leave()
    let kept = fresh
    try {
      if (this.#keep !== undefined) kept = this.#keep(query, fresh)
    } catch (error) {
      return void this.#failAll(error)
    }
    const resolution = found(kept)
    for (let waiting: WaitingQuestion | undefined = this.#first; waiting; waiting = waiting.next)
      waiting.end(resolution)
  }

  onFailure(error: unknown): void {
    this.#leave()
    this.#failAll(error)
  }

  #leave(): void {
    const key = runningKey(this.#first.question.query)
    if (this.#running.get(key) === this) this.#running.delete(key)
  }

  #failAll(error: unknown): void {
    for (let waiting: WaitingQuestion | undefined = this.#first; waiting; waiting = waiting.next) waiting.fail(error)
  }
}

/** One question that waits, with the query slot of its client. A question of the server itself has none. */
class WaitingQuestion implements QuerySlot {
  readonly client: string
  readonly question: ResolverQuestion
  /** The next one that waits for this answer. */
  next: WaitingQuestion | undefined = undefined
  readonly #limiter: QueryLimiter
  readonly #events: ForwardHandlerEvents
  #isEvicted = false

  constructor(question: ResolverQuestion, limiter: QueryLimiter, events: ForwardHandlerEvents) {
    this.client = question.client ?? ''
    this.question = question
    this.#limiter = limiter
    this.#events = events
  }

  onEvicted(): void {
    this.#isEvicted = true
    this.question.done(reject(this.#events))
  }

  end(resolution: Resolution): void {
    if (this.#isEvicted) return
    this.#limiter.release(this)
    this.question.done(resolution)
  }

  fail(error: unknown): void {
    if (this.#isEvicted) return
    if (this.question.client !== undefined) this.#events.onFailure(this.question.query, error)
    this.end(failure)
  }
}

function reject({ onRejected }: ForwardHandlerEvents): Resolution {
  onRejected()
  return { kind: 'code', plugin: 'forward', rcode: rcode.REFUSED, because: 'rejected' }
}

const failure: Resolution = { kind: 'code', plugin: 'forward', rcode: rcode.SERVFAIL, because: 'failed' }

function found({ message, layout }: UpstreamAnswer): Resolution {
  return {
    kind: 'message',
    plugin: 'forward',
    message,
    layout,
    ageMs: 0,
    ageSeconds: 0,
    ttlSeconds: undefined,
    copy: undefined,
  }
}
