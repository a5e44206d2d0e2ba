import type { Series } from '../metrics/series.ts'
import type { MessageLayout } from '../wire/message.ts'
import type { Query } from '../wire/query.ts'
import type { Answer, CachedCopy } from './handler.ts'

/** An upstream's message that was checked and may be passed on. */
export interface UpstreamAnswer {
  readonly message: Buffer
  readonly layout: MessageLayout
}

/** A question on its way through the handlers of a server block in the resolver. */
export interface ResolverQuestion {
  readonly query: Query
  readonly overTcp: boolean
  /** The address of the client, which takes one of its query slots. Undefined where the server itself asks, to renew an answer. */
  readonly client: string | undefined
  /** Receives the resolution, once, where the handlers returned none. */
  done(resolution: Resolution): void
}

/**
 * The reason for an rcode in place of a message: no upstream is responsible, none answered, or the client has no slot.
 */
type NoAnswer = 'no-upstream' | 'failed' | 'rejected'

/** The result of a handler; it is written for the client at the end. */
export type Resolution = ResolvedMessage | ResolvedCode | ResolvedSilence

export interface ResolvedMessage extends UpstreamAnswer {
  readonly kind: 'message'
  readonly plugin: Answer['plugin']
  /** How long the answer has been cached. */
  readonly ageMs: number
  /** The seconds by which each TTL is lowered. */
  readonly ageSeconds: number
  /** The TTL of each record in place of its own. */
  readonly ttlSeconds: number | undefined
  /** A copy of the cached answer, where a serving thread may give it again. */
  readonly copy: CachedCopy | undefined
}

interface ResolvedCode {
  readonly kind: 'code'
  readonly plugin: Answer['plugin']
  readonly rcode: number
  readonly because: NoAnswer
}

/** The client gets no answer. */
interface ResolvedSilence {
  readonly kind: 'silence'
  readonly plugin: Answer['plugin']
}

/** Receives a new message once, however many clients wait for it, and its question. Returns it with what clients may see. */
export type KeepAnswer = (query: Query, fresh: UpstreamAnswer) => UpstreamAnswer

/** Returns undefined where `question.done` receives the resolution: promises would take a third of the time of a forwarded query. */
export type ResolverNext = (question: ResolverQuestion, keep?: KeepAnswer) => Resolution | undefined

/** One plugin of a server block in the resolver. The handlers of a block have an order. */
export interface ResolverHandler {
  /** Resolves the question, or passes it on with `next`. A question without client is never rejected. */
  resolve(question: ResolverQuestion, next: ResolverNext, keep?: KeepAnswer): Resolution | undefined
  start?(): void
  /** Ends what the handler does by itself. Questions in progress go on. */
  stop?(): void
  close?(): void
  /** Yields its metrics; `server` is the label of the block. */
  series?(server: string): Iterable<Series>
}
