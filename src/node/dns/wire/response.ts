import { writeUint16, writeUint32 } from './bytes.ts'
import { flag } from './codes.ts'
import { foldByte } from './name.ts'
import { bareOptLength, headerLength, optLength, type Query, writeOpt } from './query.ts'
import { type DataPart, readDataParts } from './rdata.ts'
import type { DnsRecord } from './record.ts'

/** The sections of an answer before it is written. */
export interface Reply {
  readonly rcode: number
  /** AA, RA and AD of `flag`. QR, RD and CD come from the query, TC from the size. */
  readonly flags: number
  readonly answer: readonly DnsRecord[]
  readonly authority: readonly DnsRecord[]
  readonly additional: readonly DnsRecord[]
  /** An EDNS option that says more than the rcode; only a query with EDNS gets it. */
  readonly extendedError?: Buffer | undefined
}

/** The flags that an answer copies from its query. */
const copiedFlags = flag.RD | flag.CD

/** A pointer reaches only the first 16 KB of a message. */
const pointerReach = 0x4000

/**
 * Writes header and question of an answer: the client's ID, RD, CD and case of the name. Callers write the counts of the records later. Returns
 * where the records begin.
 */
export function startReply(query: Query, out: Buffer, flags: number, rcode: number): number {
  writeUint16(out, 0, query.id)
  writeUint16(out, 2, flag.QR | (query.flags & (copiedFlags | 0x7800)) | flags | (rcode & 0xf))
  const asked = query.questionEnd > headerLength
  writeUint32(out, 4, asked ? 0x1_0000 : 0)
  writeUint32(out, 8, 0)
  return asked ? headerLength + query.bytes.copy(out, headerLength, headerLength, query.questionEnd) : headerLength
}

/** Writes an answer that is only an rcode (FORMERR, NOTIMP, REFUSED, BADVERS, SERVFAIL …), with OPT where the query has one. */
export function writeError(query: Query, out: Buffer, rcode: number, flags = 0): number {
  const at = startReply(query, out, flags, rcode)
  if (!query.hasEdns) return at
  writeUint16(out, 10, 1)
  return writeOpt(query, out, at, rcode >>> 4)
}

/**
 * Writes a reply into `out`, at most `limit` bytes. Names are compressed where RFC 1035 and 3597 allow it. Records that do not fit are left out
 * from the end, with TC set; OPT stays. Returns the length.
 */
export function writeReply(query: Query, reply: Reply, out: Buffer, limit: number): number {
  const writer = new RecordWriter(out, startReply(query, out, reply.flags, reply.rcode))
  writer.learnName(headerLength)
  const extra = query.hasEdns ? (reply.extendedError ?? noOption) : noOption
  const room = Math.min(limit, out.length) - optLength(query) - extra.length
  const counts = [0, 0, 0]
  const cut = [reply.answer, reply.authority, reply.additional].some((records, section) =>
    records.some((record) => {
      const fits = writer.write(record, room)
      if (fits) counts[section] = (counts[section] ?? 0) + 1
      return !fits
    }),
  )
  if (cut) out[2] = (out[2] ?? 0) | (flag.TC >>> 8)
  for (const [section, count] of counts.entries()) writeUint16(out, 6 + 2 * section, count)
  if (!query.hasEdns) return writer.end
  writeUint16(out, 10, (counts[2] ?? 0) + 1)
  const end = writeOpt(query, out, writer.end, reply.rcode >>> 4)
  return extra.length === 0 ? end : appendOption(out, { optAt: writer.end, end, option: extra })
}

const noOption = Buffer.alloc(0)

/** Appends an option to the OPT record that ends the message. */
function appendOption(out: Buffer, at: { optAt: number; end: number; option: Buffer }): number {
  const { optAt, end, option } = at
  writeUint16(out, optAt + bareOptLength - 2, end - optAt - bareOptLength + option.length)
  return end + option.copy(out, end)
}

/** Appends records to a message and compresses names by those that precede them. */
class RecordWriter {
  readonly #out: Buffer
  /** The first offset of each suffix, by its folded bytes. */
  readonly #suffixes = new Map<string, number>()
  end: number

  constructor(out: Buffer, end: number) {
    this.#out = out
    this.end = end
  }

  /** Remembers the suffixes of an uncompressed name in the message. */
  learnName(at: number): void {
    for (let label = at; (this.#out[label] ?? 0) !== 0; label += (this.#out[label] ?? 0) + 1) {
      const key = suffixKey(this.#out, label)
      if (label < pointerReach && !this.#suffixes.has(key)) this.#suffixes.set(key, label)
    }
  }

  /** Returns false where the record would end beyond `limit`: then it is not part of the message, and none may follow. */
  write(record: DnsRecord, limit: number): boolean {
    const start = this.end
    this.#writeName(record.name, true)
    const fixed = this.end
    writeUint16(this.#out, fixed, record.type)
    writeUint16(this.#out, fixed + 2, record.class)
    writeUint32(this.#out, fixed + 4, record.ttl)
    this.end = fixed + 10
    for (const part of readDataParts(record.data, 0, record.data.length, record.type)) this.#writePart(part)
    writeUint16(this.#out, fixed + 8, this.end - fixed - 10)
    if (this.end <= limit) return true
    this.end = start
    return false
  }

  #writePart(part: DataPart): void {
    if (part.kind === 'name') this.#writeName(part.name, part.compressible)
    else this.#writeBytes(part.bytes)
  }

  #writeBytes(bytes: Buffer): void {
    if (this.end < this.#out.length) bytes.copy(this.#out, this.end)
    this.end += bytes.length
  }

  /** Writes labels up to a known suffix, then a pointer to it. Names in the message may be pointed to, compressed or not. */
  #writeName(name: Buffer, compress: boolean): void {
    let at = 0
    while ((name[at] ?? 0) !== 0) {
      const key = suffixKey(name, at)
      const known = this.#suffixes.get(key)
      if (compress && known !== undefined) {
        writeUint16(this.#out, this.end, 0xc000 | known)
        this.end += 2
        return
      }
      if (known === undefined && this.end < pointerReach) this.#suffixes.set(key, this.end)
      const next = at + (name[at] ?? 0) + 1
      this.#writeBytes(name.subarray(at, next))
      at = next
    }
    if (this.end < this.#out.length) this.#out[this.end] = 0
    this.end += 1
  }
}

/** Returns a key for a name from one of its labels to its end, equal in any case. */
function suffixKey(bytes: Uint8Array, start: number): string {
  let key = ''
  for (let at = start, label = start; ; at++) {
    const byte = bytes[at] ?? 0
    key += String.fromCharCode(foldByte(byte))
    if (at !== label) continue
    if (byte === 0) return key
    label = at + byte + 1
  }
}
