import { readUint16, readUint32, writeUint16, writeUint32 } from './bytes.ts'
import { flag, recordType } from './codes.ts'
import type { MessageLayout } from './message.ts'
import { skipName } from './name.ts'
import { headerLength, optLength, type Query, writeOpt } from './query.ts'
import { isQuestionAt } from './question-hash.ts'

/** How the message of an upstream becomes the answer to a client. */
export interface RawReplyOptions {
  /** The most bytes of the answer. */
  readonly limit: number
  /** How many seconds the message has been cached. TTLs are lowered by them, to 0 at least. */
  readonly ageSeconds?: number
  /** A TTL for every record, in an answer that outlived its own. */
  readonly ttlSeconds?: number | undefined
}

/**
 * Writes a message of an upstream as the answer to `query`. The bytes of its records stay as they are; ID, case of the question, RD, CD, TTLs
 * and OPT become those of this query. What follows an OPT record (a signature, or glue) is left out: without the OPT its pointers would be wrong.
 * Records that do not fit are left out from the end, with TC set. The question must be the query's own (see
 * `answersQuestion`), and `readLayout` must have found the records. Returns the length.
 */
export function writeRawReply(
  query: Query,
  message: Buffer,
  { extendedRcode }: MessageLayout,
  out: Buffer,
  options: RawReplyOptions,
): number {
  return rewriteReply(query, out, message.copy(out), options, extendedRcode)
}

/** Does what `writeRawReply` does with a message that is in the first `length` bytes of `out` already; what `out` has no room for may be missing. */
export function rewriteReply(
  query: Query,
  out: Buffer,
  length: number,
  options: RawReplyOptions,
  extendedRcode = 0,
): number {
  const { bytes, questionEnd } = query
  for (let at = headerLength; at < questionEnd; at += 1) out[at] = bytes[at] ?? 0
  const room = Math.min(length, Math.min(options.limit, out.length) - optLength(query))
  let end = questionEnd
  let next = end
  for (let section = 0; section < sectionCount; section += 1) {
    const count = readUint16(out, sectionCounts + 2 * section)
    let kept = 0
    while (kept < count && next > 0) {
      next = rewriteRecord(out, end, room, options)
      if (next <= 0) break
      end = next
      kept += 1
    }
    writeUint16(out, sectionCounts + 2 * section, kept)
  }
  return finish(query, out, end, { extendedRcode, isCut: next === recordIs.cut })
}

/** Where the header has the number of records of each section. */
const sectionCounts = 6
const sectionCount = 3
/** The results of `rewriteRecord` that are no end of a record. */
const recordIs = { opt: 0, cut: -1 } as const

/** Gives a record its TTL for the client. Returns its end, or a code of `recordIs` where the answer ends before it. */
function rewriteRecord(
  out: Buffer,
  start: number,
  room: number,
  { ageSeconds = 0, ttlSeconds }: RawReplyOptions,
): number {
  const fixed = skipName(out, start, out.length)
  if (fixed !== -1 && readUint16(out, fixed) === recordType.OPT) return recordIs.opt
  const end = fixed + 10 + readUint16(out, fixed + 8)
  if (fixed === -1 || fixed + 10 > room || end > room) return recordIs.cut
  if (ttlSeconds !== undefined) writeUint32(out, fixed + 4, ttlSeconds)
  else if (ageSeconds > 0) writeUint32(out, fixed + 4, Math.max(0, readUint32(out, fixed + 4) - ageSeconds))
  return end
}

function finish(
  query: Query,
  out: Buffer,
  end: number,
  { extendedRcode, isCut }: { extendedRcode: number; isCut: boolean },
): number {
  const copied = flag.RD | flag.CD
  writeUint16(out, 0, query.id)
  writeUint16(out, 2, (readUint16(out, 2) & ~copied) | flag.QR | (query.flags & copied) | (isCut ? flag.TC : 0))
  writeUint16(out, 4, 1)
  if (!query.hasEdns) return end
  writeUint16(out, 10, readUint16(out, 10) + 1)
  return writeOpt(query, out, end, extendedRcode)
}

/** Returns whether a message answers this question: equal name in any case, type and class. */
export function answersQuestion(query: Query, message: Buffer, { flags, questionEnd }: MessageLayout): boolean {
  return (flags & flag.QR) !== 0 && questionEnd === query.questionEnd && isQuestionAt(query, message, headerLength)
}
