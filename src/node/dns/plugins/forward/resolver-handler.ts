import { rcode } from '../../wire/codes.ts'
import type { Query } from '../../wire/query.ts'
import type {
  KeepAnswer,
  Resolution,
  ResolverHandler,
  ResolverNext,
  ResolverQuestion,
  UpstreamAnswer,
} from '../resolver-handler.ts'
import type { ActiveForward, ForwardList } from './forward-list.ts'

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
  /** The answers that are being asked for, by question. */
  readonly #running = new Map<string, Promise<UpstreamAnswer>>()

  constructor(forwards: ForwardList, events: ForwardHandlerEvents) {
    this.#forwards = forwards
    this.#events = events
  }

  close(): void {
    this.#forwards.close()
  }

  resolve(question: ResolverQuestion, _: ResolverNext, keep?: KeepAnswer): Resolution | Promise<Resolution> {
    const forward = this.#forwards.find(question.query.name)
    if (forward === undefined) return { kind: 'code', plugin: '', rcode: rcode.SERVFAIL, because: 'no-upstream' }
    if (question.client === undefined) return this.#fetch(question, forward, keep).then(found, () => failure)
    return this.#askFor(question.client, question, forward, keep)
  }

  /** Asks for a client. Takes one of its query slots meanwhile. */
  #askFor(
    client: string,
    question: ResolverQuestion,
    forward: ActiveForward,
    keep: KeepAnswer | undefined,
  ): Promise<Resolution> {
    const { limiter } = forward
    return new Promise((resolve) => {
      const slot = limiter.take(client, () => resolve(this.#reject()))
      if (slot === undefined) return resolve(this.#reject())
      const done = (resolution: Resolution) => {
        limiter.release(slot)
        resolve(resolution)
      }
      this.#fetch(question, forward, keep).then(
        (answer) => done(found(answer)),
        (error: unknown) => done(this.#fail(question, error)),
      )
    })
  }

  #fetch(
    { query, key, overTcp }: ResolverQuestion,
    forward: ActiveForward,
    keep: KeepAnswer | undefined,
  ): Promise<UpstreamAnswer> {
    const running = this.#running.get(key)
    if (running !== undefined) return running
    const answer = this.#forwards.ask(query, overTcp, forward).then(
      (fresh) => {
        this.#running.delete(key)
        return keep === undefined ? fresh : keep(key, fresh)
      },
      (error: unknown) => {
        this.#running.delete(key)
        throw error
      },
    )
    this.#running.set(key, answer)
    return answer
  }

  #fail({ query }: ResolverQuestion, error: unknown): Resolution {
    this.#events.onFailure(query, error)
    return failure
  }

  #reject(): Resolution {
    this.#events.onRejected()
    return { kind: 'code', plugin: 'forward', rcode: rcode.REFUSED, because: 'rejected' }
  }
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
