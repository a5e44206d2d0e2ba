import { randomInt } from 'node:crypto'
import { flag } from './codes.ts'
import { foldByte } from './name.ts'
import { headerLength, type Query } from './query.ts'

/** Differs in each process, so that no client can choose names with equal hashes. */
const seed = randomInt(1, 2 ** 31)
const prime = 0x01000193

/** Hashes what `isSameQuestion` compares (FNV-1a, 32 bits). A number as key of a table leaves no string behind for each question. */
export function questionHash(query: Query): number {
  if (query.hash !== undefined) return query.hash
  const { bytes, nameEnd, questionEnd } = query
  let hash = Math.imul(seed ^ questionBits(query), prime)
  for (let at = headerLength; at < nameEnd; at += 1) hash = Math.imul(hash ^ foldByte(bytes[at] ?? 0), prime)
  for (let at = nameEnd; at < questionEnd; at += 1) hash = Math.imul(hash ^ (bytes[at] ?? 0), prime)
  query.hash = hash ^ (hash >>> 15)
  return query.hash
}

/** Returns DO and CD: answers with and without signatures differ, and so do those that were checked and those that were not. */
export function questionBits({ dnssecOk, flags }: Query): number {
  return (dnssecOk ? 1 : 0) + ((flags & flag.CD) === 0 ? 0 : 2)
}

/** Returns whether two queries may have the same answer: name in any case, type, class, DO and CD are equal. */
export function isSameQuestion(a: Query, b: Query): boolean {
  return questionBits(a) === questionBits(b) && isQuestionAt(a, b.bytes, headerLength)
}

/** A message with one question. */
export type QuestionBytes = Pick<Query, 'bytes' | 'nameEnd' | 'questionEnd'>

/** Returns whether the question at `start` in `bytes` is that of the message: equal name in any case, type and class. */
export function isQuestionAt(message: QuestionBytes, bytes: Uint8Array, start: number): boolean {
  const { bytes: own, nameEnd, questionEnd } = message
  const shift = start - headerLength
  for (let at = headerLength; at < nameEnd; at += 1)
    if (foldByte(own[at] ?? 0) !== foldByte(bytes[at + shift] ?? 0)) return false
  // Types and classes have no case: 65 is not 97.
  for (let at = nameEnd; at < questionEnd; at += 1) if (own[at] !== bytes[at + shift]) return false
  return true
}
