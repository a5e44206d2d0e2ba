import { foldByte } from '../wire/name.ts'

/**
 * The shared memory of a table has these parts:
 *
 * - a header of 32 bytes: the number of slots, the serial of the SOA, and whether everything was listed;
 * - the slots, 4 bytes each: the offset of an entry in units of 4 bytes, 0 for none, -1 for a removed entry;
 * - the entries, each immutable once a slot has its offset. An entry is hash 4, length of name 1, zone 1, flags 1, number of answers 1, name,
 *   answers. An answer is type 2, records in the answer section 2, records in the additional section 2, length of one record where all
 *   are addresses of one family (else 0) 2, length 4, and the records as they stand in a message after the question.
 *
 * One thread writes, and any number of threads read at the same time without waiting: a change writes a new entry, then its slot. Space is not
 * used twice; when it runs out, the writer copies the live entries to a new table.
 */
export const headerWord = { slotCount: 0, serial: 1, synced: 2 } as const
export const headerBytes = 32
export const entryHeadBytes = 8
export const answerHeadBytes = 12

export const emptySlot = 0
export const removedSlot = -1

export const entryFlag = {
  /** The names of Pods are below this entry; they are answered from the question alone. */
  podParent: 1,
} as const

/** Hashes a name in any case by FNV-1a; `end` is the offset after its final zero. */
export function hashName(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ foldByte(bytes[at] ?? 0), 0x01000193)
  return hash ^ (hash >>> 15)
}

/** The data that a reader needs of a table. It may be posted to other threads, which then read the same memory. */
export interface SharedTable {
  readonly memory: SharedArrayBuffer
  readonly zones: readonly ZoneHead[]
}

export interface ZoneHead {
  /** The name of the zone in wire form and in lower case. */
  readonly name: Uint8Array
  /** The zones, above this one or below it, in which a missing name is left to the next plugin; in wire form and in lower case. */
  readonly fallthrough: readonly Uint8Array[]
  readonly ttl: number
  readonly negativeTtl: number
}
