import { writeUint16, writeUint32 } from './bytes.ts'
import { flag, recordType } from './codes.ts'
import type { MessageLayout, RecordLocation, Section } from './message.ts'
import { foldByte } from './name.ts'
import { headerLength, optLength, type Query, writeOpt } from './query.ts'

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
 * `answersQuestion`). Returns the length.
 */
export function writeRawReply(
  query: Query,
  message: Buffer,
  layout: MessageLayout,
  out: Buffer,
  options: RawReplyOptions,
): number {
  const room = Math.min(options.limit, out.length) - optLength(query)
  message.copy(out, 0, 0, headerLength)
  query.bytes.copy(out, headerLength, headerLength, query.questionEnd)
  const counts: Counts = { answer: 0, authority: 0, additional: 0 }
  let at = layout.questionEnd
  let cut = false
  for (const record of layout.records) {
    if (record.type === recordType.OPT) break
    cut = record.end > room
    if (cut) break
    at = copyRecord(message, record, out, options)
    counts[record.section] += 1
  }
  return finish(query, layout, out, at, { counts, cut })
}

type Counts = Record<Section, number>

/** Copies a record to its own offset, so that pointers stay right. */
function copyRecord(message: Buffer, record: RecordLocation, out: Buffer, options: RawReplyOptions): number {
  message.copy(out, record.start, record.start, record.end)
  const aged = Math.max(0, record.ttl - (options.ageSeconds ?? 0))
  writeUint32(out, record.ttlAt, options.ttlSeconds ?? aged)
  return record.end
}

function finish(
  query: Query,
  layout: MessageLayout,
  out: Buffer,
  end: number,
  { counts, cut }: { counts: Counts; cut: boolean },
): number {
  const copied = flag.RD | flag.CD
  const flags = (layout.flags & ~copied) | flag.QR | (query.flags & copied) | (cut ? flag.TC : 0)
  writeUint16(out, 0, query.id)
  writeUint16(out, 2, flags)
  writeUint16(out, 4, 1)
  writeUint16(out, 6, counts.answer)
  writeUint16(out, 8, counts.authority)
  writeUint16(out, 10, counts.additional + (query.hasEdns ? 1 : 0))
  return query.hasEdns ? writeOpt(query, out, end, layout.extendedRcode) : end
}

/** Returns whether a message answers this question: equal name in any case, type and class. */
export function answersQuestion(query: Query, message: Buffer, layout: MessageLayout): boolean {
  if ((layout.flags & flag.QR) === 0 || layout.questionEnd !== query.questionEnd) return false
  for (let at = headerLength; at < query.nameEnd; at++) {
    if (foldByte(message[at] ?? 0) !== foldByte(query.bytes[at] ?? 0)) return false
  }
  return layout.questionType === query.type && layout.questionClass === query.class
}
