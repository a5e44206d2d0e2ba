import { foldByte } from '../wire/name.ts'

/**
 * The shared memory of a table:
 *
 * - 32 bytes of header: how many slots, SOA serial, whether everything was listed;
 * - the slots, 4 bytes each: where the entry begins in units of 4 bytes, 0 for none, -1 for one that was removed;
 * - entries, each immutable once its slot says where it is:
 *   hash 4, length of name 1, zone 1, flags 1, number of answers 1, name, answers;
 *   an answer is type 2, records in the answer section 2, in the additional section 2, size of its records where they are
 *   all alike and of addresses (else 0) 2, length 4, records as they stand in a message after the question.
 *
 * One thread writes, any number read at the same time and never wait: a change writes a new entry and then its slot.
 * Space is not used twice; when it runs out, the writer copies what lives to a new table.
 */
export const headerWord = { slotCount: 0, serial: 1, synced: 2 } as const
export const headerBytes = 32
export const entryHeadBytes = 8
export const answerHeadBytes = 12

export const emptySlot = 0
export const removedSlot = -1

export const entryFlag = {
  /** Below it lie the names of Pods, made from the question alone. */
  podParent: 1,
} as const

/** FNV-1a over a name in any case; `end` is behind its final zero. */
export function hashName(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ foldByte(bytes[at] ?? 0), 0x01000193)
  return hash ^ (hash >>> 15)
}

/** What a reader needs of a table; may be posted to other threads, which then read the same memory. */
export interface SharedTable {
  readonly memory: SharedArrayBuffer
  readonly zones: readonly ZoneHead[]
}

export interface ZoneHead {
  /** Folded, in wire form. */
  readonly name: Uint8Array
  /** What is missing there is the next plugin's to answer: zones above this one or below it, folded, in wire form. */
  readonly fallthrough: readonly Uint8Array[]
  readonly ttl: number
  readonly negativeTtl: number
}
