import { readUint16, readUint32 } from './bytes.ts'
import { recordType } from './codes.ts'
import { DnsFormatError } from './errors.ts'
import { isReadableName, readName, skipName, skipPlainName, type WireName } from './name.ts'
import { headerLength } from './query.ts'
import { isReadableData, readData } from './rdata.ts'
import type { DnsRecord } from './record.ts'

/** The most bytes of a message over TCP: its length is two bytes (RFC 1035 4.2.2). */
export const maxMessageLength = 65_535

type Section = 'answer' | 'authority' | 'additional'
const sections: readonly Section[] = ['answer', 'authority', 'additional']

/** The offsets of one record in a message. */
export interface RecordLocation {
  readonly section: Section
  readonly start: number
  readonly type: number
  readonly class: number
  /** The offset of the TTL, whose 32 bits mean something else in an OPT record. */
  readonly ttlAt: number
  readonly ttl: number
  readonly dataAt: number
  readonly end: number
}

/** The offsets of a message's records, enough to pass the message on as raw bytes. */
export interface MessageLayout {
  readonly id: number
  readonly flags: number
  /** The low 4 bits of the rcode, from the header. */
  readonly rcode: number
  /** The upper 8 bits of the rcode, from the OPT record; 0 without one. */
  readonly extendedRcode: number
  readonly questionEnd: number
  readonly hasQuestion: boolean
  /** The name in wire form; undefined where the message has no question. */
  readonly questionName: WireName | undefined
  readonly questionType: number
  readonly questionClass: number
  readonly records: readonly RecordLocation[]
}

/**
 * Finds the records of a message in its first `length` bytes; the message has at most one question. Names are skipped without following
 * pointers, so the length bounds the time. Throws DnsFormatError.
 */
export function readLayout(message: Buffer, length: number): MessageLayout {
  if (length < headerLength) throw new DnsFormatError('short', `a message of ${length} bytes`)
  const questions = readUint16(message, 4)
  if (questions > 1) throw new DnsFormatError('rdata', `${questions} questions in a message`)
  return new FoundLayout(message, length, questions === 1)
}

/** The layout that `readLayout` finds. Its name is decoded when it is asked for: most messages are passed on without it. */
class FoundLayout implements MessageLayout {
  readonly id: number
  readonly flags: number
  readonly rcode: number
  readonly extendedRcode: number
  readonly hasQuestion: boolean
  readonly questionEnd: number
  readonly questionType: number
  readonly questionClass: number
  readonly records: readonly RecordLocation[]
  readonly #message: Buffer

  constructor(message: Buffer, length: number, hasQuestion: boolean) {
    this.#message = message
    this.id = readUint16(message, 0)
    this.flags = readUint16(message, 2)
    this.rcode = this.flags & 0xf
    this.hasQuestion = hasQuestion
    const nameEnd = hasQuestion ? findNameEnd(message, length) : headerLength
    this.questionEnd = hasQuestion ? nameEnd + 4 : headerLength
    this.questionType = hasQuestion ? readUint16(message, nameEnd) : 0
    this.questionClass = hasQuestion ? readUint16(message, nameEnd + 2) : 0
    this.records = findRecords(message, length, this.questionEnd)
    this.extendedRcode = (optOf(this.records)?.ttl ?? 0) >>> 24
  }

  get questionName(): WireName | undefined {
    return this.hasQuestion ? readName(this.#message, headerLength, this.questionEnd).name : undefined
  }
}

function optOf(records: readonly RecordLocation[]): RecordLocation | undefined {
  for (const record of records) if (record.type === recordType.OPT) return record
  return undefined
}

/** Returns the end of the question's name. A pointer in it can only lead into the header. */
function findNameEnd(message: Buffer, length: number): number {
  const plain = skipPlainName(message, headerLength, length)
  const end = plain === -1 ? readName(message, headerLength, length).next : plain
  if (end + 4 > length) throw new DnsFormatError('short', 'the question has no type or class')
  return end
}

/** The bytes of the least record: the root, and the fixed fields. */
const leastRecordBytes = 11

function findRecords(message: Buffer, length: number, from: number): readonly RecordLocation[] {
  const counts = readUint16(message, 6) + readUint16(message, 8) + readUint16(message, 10)
  // An array that grows would first have room for 17.
  const records = new Array<RecordLocation>(Math.min(counts, Math.ceil(length / leastRecordBytes)))
  let at = from
  let found = 0
  for (let index = 0; index < sections.length; index++) {
    const count = readUint16(message, 6 + 2 * index)
    for (let number = 0; number < count; number++) {
      const location = findRecord(message, length, at, sections[index] ?? 'answer')
      records[found] = location
      found += 1
      at = location.end
    }
  }
  return records
}

function findRecord(message: Buffer, length: number, start: number, section: Section): RecordLocation {
  const at = skipName(message, start, length)
  if (at === -1 || at + 10 > length) throw new DnsFormatError('short', `the record at byte ${start} has no end`)
  const end = at + 10 + readUint16(message, at + 8)
  if (end > length) throw new DnsFormatError('short', `the data of the record at byte ${start} has no end`)
  const type = readUint16(message, at)
  if (type === recordType.OPT && section !== 'additional') {
    throw new DnsFormatError('rdata', `an OPT record in the ${section} section`)
  }
  return {
    section,
    start,
    type,
    class: readUint16(message, at + 2),
    ttlAt: at + 4,
    ttl: readUint32(message, at + 4),
    dataAt: at + 10,
    end,
  }
}

/** Returns whether every name in the records can be decoded. `readLayout` skips owners and data, whose pointers may lead nowhere or to themselves. */
export function hasReadableNames(message: Buffer, { records }: MessageLayout): boolean {
  for (const { start, type, dataAt, end } of records)
    if (!isReadableName(message, start, message.length) || !isReadableData(message, dataAt, end, type)) return false
  return true
}

/** A decoded message. Its records have memory of their own and no pointers; OPT records are left out. */
export interface DnsMessage {
  readonly id: number
  readonly flags: number
  /** All 12 bits. */
  readonly rcode: number
  readonly question: { readonly name: WireName; readonly type: number; readonly class: number } | undefined
  readonly answer: readonly DnsRecord[]
  readonly authority: readonly DnsRecord[]
  readonly additional: readonly DnsRecord[]
  readonly edns: { readonly udpSize: number; readonly dnssecOk: boolean; readonly options: Buffer } | undefined
}

/** Decodes a message. Throws DnsFormatError. */
export function readMessage(message: Buffer, length: number): DnsMessage {
  const layout = readLayout(message, length)
  const opt = optOf(layout.records)
  const inSection = (section: Section) =>
    layout.records
      .filter((location) => location.section === section && location.type !== recordType.OPT)
      .map((location) => readRecord(message, length, location))
  return {
    id: layout.id,
    flags: layout.flags,
    rcode: layout.rcode | (layout.extendedRcode << 4),
    question: layout.questionName && {
      name: Buffer.from(layout.questionName),
      type: layout.questionType,
      class: layout.questionClass,
    },
    answer: inSection('answer'),
    authority: inSection('authority'),
    additional: inSection('additional'),
    edns: opt && {
      udpSize: opt.class,
      dnssecOk: (opt.ttl & 0x8000) !== 0,
      options: Buffer.from(message.subarray(opt.dataAt, opt.end)),
    },
  }
}

/** Decodes one record of a message and resolves its pointers. Throws DnsFormatError. */
function readRecord(message: Buffer, length: number, location: RecordLocation): DnsRecord {
  return {
    name: readName(message, location.start, length).name,
    type: location.type,
    class: location.class,
    ttl: location.ttl,
    data: readData(message, location.dataAt, location.end, location.type),
  }
}
