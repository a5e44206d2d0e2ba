import { writeUint16, writeUint32 } from './bytes.ts'
import { flag, recordType } from './codes.ts'
import type { MessageLayout, RecordLocation, Section } from './message.ts'
import { foldByte } from './name.ts'
import { headerLength, optLength, type Query, writeOpt } from './query.ts'

/** How the answer of an upstream is passed on. */
export interface RawReplyOptions {
  /** How many bytes it may have. */
  readonly limit: number
  /** How many seconds it has been kept: TTLs are lowered by them, never below 0. */
  readonly ageSeconds?: number
  /** Every TTL is this, for an answer that outlived its own. */
  readonly ttlSeconds?: number
}

/**
 * Passes a message of an upstream on as the answer to `query`: the bytes of its records as they are, with ID, the spelling of
 * the question, RD, CD, TTLs and OPT made those of this query. What does not fit is left out by whole records from the end,
 * with TC set. The question must be the query's own (see `answersQuestion`). Returns the length.
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
  const kept = layout.records.slice(0, optIndex(layout))
  const cut = kept.some((record) => {
    if (record.end > room) return true
    at = copyRecord(message, record, out, options)
    counts[record.section] += 1
    return false
  })
  return finish(query, layout, out, at, { counts, cut })
}

type Counts = Record<Section, number>

/** What follows an OPT record (a signature, or glue) is left out: without the OPT its pointers would be wrong. */
function optIndex({ records }: MessageLayout): number {
  const index = records.findIndex(({ type }) => type === recordType.OPT)
  return index === -1 ? records.length : index
}

/** Records keep their places, so pointers in them stay right. */
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

/** Whether a message answers this question: name but for case, type and class. */
export function answersQuestion(query: Query, message: Buffer, layout: MessageLayout): boolean {
  if ((layout.flags & flag.QR) === 0 || layout.questionEnd !== query.questionEnd) return false
  for (let at = headerLength; at < query.nameEnd; at++) {
    if (foldByte(message[at] ?? 0) !== foldByte(query.bytes[at] ?? 0)) return false
  }
  return layout.questionType === query.type && layout.questionClass === query.class
}
