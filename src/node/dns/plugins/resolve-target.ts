import { headerLength, type Query } from '../wire/query.ts'
import type { Question } from './handler.ts'

/**
 * Resolves the target of an alias as if the client had asked for it: the same type, through the server block of that name. Gives undefined
 * where no block serves the name, or too many aliases led to it.
 */
export type ResolveTarget = (target: Buffer, question: Question) => Promise<Buffer | undefined>

/** Returns the client's query for another name: the same type, class, ID, flags and OPT, in a buffer of its own. */
export function makeTargetQuery(query: Query, target: Uint8Array): Buffer {
  const { bytes, length, nameEnd } = query
  return Buffer.concat([bytes.subarray(0, headerLength), target, bytes.subarray(nameEnd, length)])
}
