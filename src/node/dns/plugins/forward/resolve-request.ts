import type { Answer, CachedCopy } from '../handler.ts'

/** A question that a serving thread sends to the resolver thread; plain data. */
export interface ResolveRequest {
  readonly id: number
  /** The id of the server block. */
  readonly block: string
  /** The bytes of the query. */
  readonly question: Uint8Array
  readonly client: string
  readonly overTcp: boolean
  readonly limit: number
  /** The serving thread wants a copy of an answer that comes from the cache. */
  readonly wantsCopy: boolean
}

/** The answer to a `ResolveRequest`, matched by its id. */
export interface ResolveResult {
  readonly id: number
  readonly message: Uint8Array | undefined
  readonly plugin: Answer['plugin']
  readonly ageMs: number
  readonly copy?: CachedCopy
}

/** Asks the resolver thread. Gives undefined where it does not answer in time or is not running. */
export type Resolve = (request: Omit<ResolveRequest, 'id'>) => Promise<ResolveResult | undefined>
