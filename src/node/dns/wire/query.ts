import { readUint16, writeUint16 } from './bytes.ts'
import { ednsOption, flag, recordType } from './codes.ts'
import { isUnder, maxNameLength, skipName, skipPlainName } from './name.ts'

/**
 * The verdict on a message of a client. `ok`: a question to answer; `drop`: no answer, because it is an answer itself
 * or too short; the others are the rcode of the answer.
 */
export type QueryVerdict = 'ok' | 'drop' | 'formerr' | 'notimp' | 'badvers'

export const headerLength = 12

/** The size of an answer over UDP where the query does not offer one (RFC 1035 4.2.1). */
const plainUdpSize = 512

const maxOptionBytes = 512

const noBytes = Buffer.alloc(0)

/**
 * One query, read in place: offsets into `bytes`, no copies. One object is filled by `parse` for each query, so the path of answers from memory
 * allocates nothing. It is valid until the next `parse`, or until `bytes` is overwritten.
 */
export class Query {
  bytes: Buffer = noBytes
  length = 0
  id = 0
  /** The second 16 bits of the header, as they arrived. */
  flags = 0
  /** The end of the question's name, which begins at byte 12; 12 when the question could not be read. */
  nameEnd: number = headerLength
  /** The end of the question. */
  questionEnd: number = headerLength
  type = 0
  class = 0
  hasEdns = false
  /** The size that the client accepts over UDP: at least 512. */
  udpSize: number = plainUdpSize
  dnssecOk = false
  ednsVersion = 0
  /** The start of the OPT record's options, which end at `optionsEnd`; there are none where they break the format. */
  optionsAt = 0
  optionsEnd = 0
  /** The hash of `questionHash`, once it was asked for. */
  hash: number | undefined
  #name: Buffer | undefined

  /** Reads the query in the first `length` bytes. */
  parse(bytes: Buffer, length: number): QueryVerdict {
    this.#reset(bytes, length)
    if (length < headerLength) return 'drop'
    this.id = readUint16(bytes, 0)
    this.flags = readUint16(bytes, 2)
    if ((this.flags & flag.QR) !== 0) return 'drop'
    if ((this.flags & 0x7800) !== 0) return 'notimp'
    if (!this.#readQuestion()) return 'formerr'
    if (!this.#readRecords()) return 'formerr'
    return this.ednsVersion === 0 ? 'ok' : 'badvers'
  }

  /** Returns the query as it stands in a copy of its bytes, without reading it again. */
  inCopy(bytes: Buffer): Query {
    const copy = new Query()
    copy.bytes = bytes
    copy.length = this.length
    copy.id = this.id
    copy.flags = this.flags
    copy.nameEnd = this.nameEnd
    copy.questionEnd = this.questionEnd
    copy.type = this.type
    copy.class = this.class
    copy.hasEdns = this.hasEdns
    copy.udpSize = this.udpSize
    copy.dnssecOk = this.dnssecOk
    copy.ednsVersion = this.ednsVersion
    copy.optionsAt = this.optionsAt
    copy.optionsEnd = this.optionsEnd
    copy.hash = this.hash
    return copy
  }

  #reset(bytes: Buffer, length: number): void {
    this.bytes = bytes
    this.#name = undefined
    this.hash = undefined
    this.length = length
    this.nameEnd = headerLength
    this.questionEnd = headerLength
    this.type = 0
    this.class = 0
    this.hasEdns = false
    this.udpSize = plainUdpSize
    this.dnssecOk = false
    this.ednsVersion = 0
    this.optionsAt = 0
    this.optionsEnd = 0
  }

  #readQuestion(): boolean {
    const { bytes, length } = this
    if (readUint16(bytes, 4) !== 1) return false
    const nameEnd = skipPlainName(bytes, headerLength, length)
    if (nameEnd === -1 || nameEnd - headerLength > maxNameLength || nameEnd + 4 > length) return false
    this.nameEnd = nameEnd
    this.type = readUint16(bytes, nameEnd)
    this.class = readUint16(bytes, nameEnd + 2)
    this.questionEnd = nameEnd + 4
    return true
  }

  /**
   * Reads the records after the question. A query may have one answer and one authority record (IXFR, NOTIFY) and two additional ones, OPT and a
   * signature.
   */
  #readRecords(): boolean {
    const { bytes } = this
    const before = readUint16(bytes, 6) + readUint16(bytes, 8)
    const additional = readUint16(bytes, 10)
    if (readUint16(bytes, 6) > 1 || readUint16(bytes, 8) > 1 || additional > 2) return false
    let at = this.questionEnd
    for (let index = 0; index < before + additional; index++) {
      at = this.#readRecord(at, index >= before)
      if (at === -1) return false
    }
    return true
  }

  #readRecord(start: number, additional: boolean): number {
    const { bytes, length } = this
    const at = skipName(bytes, start, length)
    if (at === -1 || at + 10 > length) return -1
    const end = at + 10 + readUint16(bytes, at + 8)
    if (end > length) return -1
    if (readUint16(bytes, at) !== recordType.OPT) return end
    if (!additional || this.hasEdns || at !== start + 1) return -1
    return this.#readOpt(at, end) ? end : -1
  }

  /** Reads the OPT record (RFC 6891 6.1): the class is the size, the TTL holds the version and the DO bit. */
  #readOpt(at: number, end: number): boolean {
    const { bytes } = this
    this.hasEdns = true
    this.udpSize = Math.max(plainUdpSize, readUint16(bytes, at + 2))
    this.ednsVersion = bytes[at + 5] ?? 0
    this.dnssecOk = ((bytes[at + 6] ?? 0) & 0x80) !== 0
    for (let option = at + 10; option < end; ) {
      if (option + 4 > end) return false
      option += 4 + readUint16(bytes, option + 2)
      if (option > end) return false
    }
    this.optionsAt = at + 10
    this.optionsEnd = end
    return true
  }

  /** Returns where the data of an EDNS option begins and ends in `bytes`, or undefined. */
  option(code: number): { start: number; end: number } | undefined {
    for (let at = this.optionsAt; at < this.optionsEnd; ) {
      const end = at + 4 + readUint16(this.bytes, at + 2)
      if (readUint16(this.bytes, at) === code) return { start: at + 4, end }
      at = end
    }
    return undefined
  }

  /** Returns whether the question's name is `zone` or below it. Allocates nothing. */
  isUnder(zone: Uint8Array): boolean {
    return isUnder(this.bytes, zone, headerLength, this.nameEnd)
  }

  /** The question's name in wire form and in its original case: a view, not a copy. */
  get name(): Buffer {
    this.#name ??= this.bytes.subarray(headerLength, this.nameEnd)
    return this.#name
  }
}

/** The length of an OPT record without options. */
export const bareOptLength = 11

/** Returns the length of the answer's OPT record; 0 where the query has none. */
export function optLength(query: Query): number {
  return query.hasEdns ? bareOptLength + keptOptionsLength(query) : 0
}

/**
 * Writes the answer's OPT record: the client's size and DO bit, and the options that are echoed (COOKIE, NSID, EXPIRE, TCP-KEEPALIVE, PADDING).
 * Others, such as the client subnet, are left out. Returns the end of the record.
 */
export function writeOpt(query: Query, out: Buffer, at: number, extendedRcode = 0): number {
  out[at] = 0
  writeUint16(out, at + 1, recordType.OPT)
  writeUint16(out, at + 3, query.udpSize)
  out[at + 5] = extendedRcode
  out[at + 6] = 0
  writeUint16(out, at + 7, query.dnssecOk ? 0x8000 : 0)
  const length = keptOptionsLength(query)
  writeUint16(out, at + 9, length)
  if (length === 0) return at + bareOptLength
  return copyOptions(query, out, at + bareOptLength)
}

function copyOptions(query: Query, out: Buffer, start: number): number {
  const { bytes, optionsEnd } = query
  let at = start
  for (let option = query.optionsAt; option < optionsEnd; ) {
    const end = option + 4 + readUint16(bytes, option + 2)
    if (isEchoed(readUint16(bytes, option))) at += bytes.copy(out, at, option, end)
    option = end
  }
  return at
}

/** Options of more than 512 bytes together are not echoed: they would leave no space for the answer. */
function keptOptionsLength(query: Query): number {
  const { bytes, optionsAt, optionsEnd } = query
  let length = 0
  for (let option = optionsAt; option < optionsEnd; ) {
    const size = 4 + readUint16(bytes, option + 2)
    if (isEchoed(readUint16(bytes, option))) length += size
    option += size
  }
  return length > maxOptionBytes ? 0 : length
}

function isEchoed(code: number): boolean {
  return (
    code === ednsOption.COOKIE ||
    code === ednsOption.NSID ||
    code === ednsOption.EXPIRE ||
    code === ednsOption.TCP_KEEPALIVE ||
    code === ednsOption.PADDING
  )
}
