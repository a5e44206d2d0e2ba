import type { Query } from '../../wire/query.ts'
import type { Answer, CachedCopy } from '../handler.ts'

/** A question for the upstreams and the cache of a server block. */
export interface ForwardedQuestion {
  /** The id of the server block. */
  readonly block: string
  readonly query: Query
  /** The address of the client. */
  readonly client: string
  readonly overTcp: boolean
  readonly limit: number
  /** The serving thread wants a copy of an answer that comes from the cache. */
  readonly wantsCopy: boolean
}

/** Resolves a question on this thread or on the one that has the resolver. Gives undefined where that one does not answer in time or is not running. */
export type Resolve = (question: ForwardedQuestion) => Answer | undefined | Promise<Answer | undefined>

/** A question on its way to the thread with the resolver; plain data. */
export interface ResolveRequest extends Omit<ForwardedQuestion, 'query'> {
  readonly id: number
  /** The bytes of the query. */
  readonly question: Uint8Array
}

/** The answer to a `ResolveRequest`, matched by its id. */
export interface ResolveResult {
  readonly id: number
  readonly message: Uint8Array | undefined
  readonly plugin: Answer['plugin']
  readonly ageMs: number
  readonly copy?: CachedCopy
}
