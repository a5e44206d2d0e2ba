import { type Ip, ipFamily, parseIp } from '../../../model/ip.ts'
import { readUint16, readUint32, writeUint16, writeUint32 } from '../wire/bytes.ts'
import { flag, rcode, recordClass, recordType } from '../wire/codes.ts'
import { foldByte, skipName } from '../wire/name.ts'
import { headerLength, optLength, type Query, writeOpt } from '../wire/query.ts'
import { addressData, type DnsRecord, makeRecord } from '../wire/record.ts'
import { startReply, writeError } from '../wire/response.ts'
import {
  answerHeadBytes,
  emptySlot,
  entryFlag,
  entryHeadBytes,
  hashName,
  headerBytes,
  headerWord,
  removedSlot,
  type SharedTable,
  type ZoneHead,
} from './layout.ts'

/** The codes that `AnswerTable.answer` returns instead of a length, which is above 0: an object for each answer would cost more than the look-up. */
export const noAnswer = {
  /** The name is in none of the zones, or missing in one that falls through to the next plugin. */
  nextPlugin: 0,
  /** The name is an ExternalName Service: its `alias` leads to the name to resolve next. */
  externalName: -1,
} as const

export interface AnswerTableOptions {
  /** The addresses of an answer are rotated with each answer (CoreDNS' `loadbalance`). */
  readonly rotate: boolean
  /** Any number but 0, different for each thread, so that two threads do not rotate alike. */
  readonly seed: number
}

/**
 * Reads the names of the cluster from memory that another thread writes. An answer is one look-up and one copy: its records were encoded when
 * the state changed. `answer` allocates nothing, except for names of Pods.
 */
export class AnswerTable {
  readonly #rotate: boolean
  readonly #zones: readonly ZoneHead[]
  readonly #soas: readonly Buffer[]
  readonly #words: Int32Array
  readonly #bytes: Buffer
  readonly #mask: number
  #random: number

  constructor(table: SharedTable, options: AnswerTableOptions) {
    this.#zones = table.zones
    this.#soas = table.zones.map(soaTemplate)
    this.#words = new Int32Array(table.memory)
    this.#bytes = Buffer.from(table.memory)
    this.#mask = (this.#words[headerWord.slotCount] ?? 1) - 1
    this.#rotate = options.rotate
    this.#random = options.seed | 0 || 1
  }

  /** True once everything was listed. Before that, names that are missing get SERVFAIL. */
  get synced(): boolean {
    return Atomics.load(this.#words, headerWord.synced) === 1
  }

  /**
   * Writes the answer to a query for which `Query.parse` returned `ok` into `out`, at most `limit` bytes. Returns its length, or a code of
   * `noAnswer` where this table alone cannot answer.
   */
  answer(query: Query, out: Buffer, limit: number): number {
    const { bytes, nameEnd } = query
    const entry = this.#find(bytes, headerLength, nameEnd)
    if (query.type === recordType.AXFR || query.type === recordType.IXFR) return this.#refuseTransfer(query, out)
    if (entry === 0) return this.#answerMissing(query, out)
    const zone = this.#bytes[entry + 5] ?? 0
    const answer = this.#findAnswer(entry, query.type)
    if (answer !== 0) return this.#writeAnswer(query, answer, out, limit)
    if (query.type === recordType.SOA && nameEnd - headerLength === this.#zones[zone]?.name.length) {
      return this.#writeSoa(query, zone, out, { rcode: rcode.NOERROR, section: 'answer' })
    }
    if (isAddressType(query.type) && this.#findAnswer(entry, recordType.CNAME) !== 0) return noAnswer.externalName
    return this.#writeSoa(query, zone, out, { rcode: rcode.NOERROR, section: 'authority' })
  }

  /** Returns the CNAME record of an ExternalName Service; its owner is in the case of the question. */
  alias(query: Query): DnsRecord | undefined {
    const entry = this.#find(query.bytes, headerLength, query.nameEnd)
    const answer = entry === 0 ? 0 : this.#findAnswer(entry, recordType.CNAME)
    if (answer === 0) return undefined
    const record = answer + answerHeadBytes
    const end = record + readUint32(this.#bytes, answer + 8)
    const data = Buffer.from(this.#bytes.subarray(record + 12, end))
    return makeRecord(Buffer.from(query.name), recordType.CNAME, readUint32(this.#bytes, record + 6), data)
  }

  /** Returns whether the name is in one of the zones. */
  covers(query: Query): boolean {
    return this.#zoneOf(query) !== -1
  }

  /** Returns the entry of the name in `bytes`, or 0. */
  #find(bytes: Uint8Array, start: number, end: number): number {
    const hash = hashName(bytes, start, end) >>> 0
    for (let probe = hash & this.#mask; ; probe = (probe + 1) & this.#mask) {
      const position = Atomics.load(this.#words, headerBytes / 4 + probe)
      if (position === emptySlot) return 0
      if (position !== removedSlot && this.#isNamed(position * 4, hash, bytes, start, end)) return position * 4
    }
  }

  #isNamed(entry: number, hash: number, bytes: Uint8Array, start: number, end: number): boolean {
    const own = this.#bytes
    if (own[entry + 4] !== end - start || readUint32(own, entry) !== hash) return false
    const offset = entry + entryHeadBytes - start
    for (let at = start; at < end; at++) if (own[offset + at] !== foldByte(bytes[at] ?? 0)) return false
    return true
  }

  /** Returns the offset of the answer to that type, or 0. */
  #findAnswer(entry: number, type: number): number {
    const own = this.#bytes
    let at = entry + entryHeadBytes + (own[entry + 4] ?? 0)
    for (let left = own[entry + 7] ?? 0; left > 0; left--) {
      if (readUint16(own, at) === type) return at
      at += answerHeadBytes + readUint32(own, at + 8)
    }
    return 0
  }

  #writeAnswer(query: Query, answer: number, out: Buffer, limit: number): number {
    const own = this.#bytes
    const start = startReply(query, out, flag.AA, rcode.NOERROR)
    const room = Math.min(limit, out.length) - optLength(query) - start
    const from = answer + answerHeadBytes
    const length = readUint32(own, answer + 8)
    const stride = readUint16(own, answer + 6)
    const answers = readUint16(own, answer + 2)
    if (stride > 0) return this.#writeAddresses(query, out, { from, length, stride, start, room })
    if (length > room) return this.#writeCut(query, out, { from, start, room, answers })
    own.copy(out, start, from, from + length)
    writeUint16(out, 6, answers)
    return finish(query, out, start + length, readUint16(own, answer + 4))
  }

  /** Writes addresses alone, from a random one to the last, then from the first. */
  #writeAddresses(query: Query, out: Buffer, part: AddressPart): number {
    const { from, length, stride, start, room } = part
    const count = length / stride
    const fitting = Math.min(count, Math.floor(room / stride))
    const first = this.#rotate && count > 1 ? this.#nextRandom() % count : 0
    const ahead = Math.min(fitting, count - first) * stride
    this.#bytes.copy(out, start, from + first * stride, from + first * stride + ahead)
    if (fitting * stride > ahead) this.#bytes.copy(out, start + ahead, from, from + fitting * stride - ahead)
    writeUint16(out, 6, fitting)
    if (fitting < count) setTruncated(out)
    return finish(query, out, start + fitting * stride, 0)
  }

  /** Writes as many whole records from the front as fit. */
  #writeCut(query: Query, out: Buffer, part: { from: number; start: number; room: number; answers: number }): number {
    const own = this.#bytes
    let end = part.from
    let records = 0
    for (;;) {
      const fixed = skipName(own, end, own.length)
      const next = fixed + 10 + readUint16(own, fixed + 8)
      if (next - part.from > part.room) break
      end = next
      records += 1
    }
    own.copy(out, part.start, part.from, end)
    const answers = Math.min(records, part.answers)
    writeUint16(out, 6, answers)
    setTruncated(out)
    return finish(query, out, part.start + end - part.from, records - answers)
  }

  #answerMissing(query: Query, out: Buffer): number {
    const zone = this.#zoneOf(query)
    if (zone === -1) return noAnswer.nextPlugin
    const address = this.#podAddress(query)
    if (address !== undefined) return this.#writePod(query, zone, address, out)
    if (!this.synced) return this.#writeSoa(query, zone, out, { rcode: rcode.SERVFAIL, section: 'authority' })
    if (this.#zones[zone]?.fallthrough.some((name) => query.isUnder(name))) return noAnswer.nextPlugin
    return this.#writeSoa(query, zone, out, { rcode: rcode.NXDOMAIN, section: 'authority' })
  }

  /** Returns the index of the smallest zone that holds the name, or -1. Zones are sorted by length, the longest first. */
  #zoneOf(query: Query): number {
    for (let index = 0; index < this.#zones.length; index += 1)
      if (query.isUnder(this.#zones[index]?.name ?? query.name)) return index
    return -1
  }

  /** Returns the address in a Pod's name (`10-244-0-7.default.pod`), where Pods are not verified. */
  #podAddress(query: Query): Ip | undefined {
    const { bytes, nameEnd } = query
    const labelEnd = headerLength + 1 + (bytes[headerLength] ?? 0)
    if (labelEnd >= nameEnd) return undefined
    const parent = this.#find(bytes, labelEnd, nameEnd)
    if (parent === 0 || ((this.#bytes[parent + 6] ?? 0) & entryFlag.podParent) === 0) return undefined
    return readDashedAddress(bytes.toString('latin1', headerLength + 1, labelEnd))
  }

  #writePod(query: Query, zone: number, address: Ip, out: Buffer): number {
    const type = ipFamily(address) === 'IPv4' ? recordType.A : recordType.AAAA
    if (query.type !== type) return this.#writeSoa(query, zone, out, { rcode: rcode.NOERROR, section: 'authority' })
    const at = startReply(query, out, flag.AA, rcode.NOERROR)
    const data = addressData(address)
    writeUint16(out, 6, 1)
    writeUint16(out, at, 0xc000 | headerLength)
    writeUint16(out, at + 2, type)
    writeUint16(out, at + 4, recordClass.IN)
    writeUint32(out, at + 6, this.#zones[zone]?.ttl ?? 0)
    writeUint16(out, at + 10, data.length)
    data.copy(out, at + 12)
    return finish(query, out, at + 12 + data.length, 0)
  }

  /** Writes the SOA record alone, as the answer for the zone itself or as the denial of a name or type (RFC 2308). */
  #writeSoa(query: Query, zone: number, out: Buffer, { rcode: code, section }: SoaReply): number {
    const start = startReply(query, out, flag.AA, code)
    const soa = this.#soas[zone]
    const head = this.#zones[zone]
    if (soa === undefined || head === undefined) return start
    const end = start + soa.copy(out, start)
    const pointer = 0xc000 | (query.nameEnd - head.name.length)
    writeUint16(out, start, pointer)
    writeUint32(out, start + 6, section === 'answer' ? head.ttl : head.negativeTtl)
    writeUint16(out, start + 12 + primaryLabels.length, pointer)
    writeUint16(out, start + 12 + primaryLabels.length + 2 + mailboxLabels.length, pointer)
    writeUint32(out, end - 20, Atomics.load(this.#words, headerWord.serial))
    writeUint16(out, section === 'answer' ? 6 : 8, 1)
    return finish(query, out, end, 0)
  }

  #refuseTransfer(query: Query, out: Buffer): number {
    return this.covers(query) ? writeError(query, out, rcode.REFUSED) : noAnswer.nextPlugin
  }

  /** Returns the next number of an xorshift32 generator. */
  #nextRandom(): number {
    this.#random ^= this.#random << 13
    this.#random ^= this.#random >>> 17
    this.#random ^= this.#random << 5
    return this.#random >>> 0
  }
}

interface AddressPart {
  readonly from: number
  readonly length: number
  readonly stride: number
  readonly start: number
  readonly room: number
}

interface SoaReply {
  readonly rcode: number
  readonly section: 'answer' | 'authority'
}

const primaryLabels = Buffer.from('\x02ns\x03dns', 'latin1')
const mailboxLabels = Buffer.from('\x0ahostmaster', 'latin1')
const soaTimes = { refresh: 7200, retry: 1800, expire: 86_400 } as const

/** Makes the SOA record but for owner, TTL, serial and the pointers to the zone, which depend on the question. */
function soaTemplate(zone: ZoneHead): Buffer {
  const dataLength = primaryLabels.length + 2 + mailboxLabels.length + 2 + 20
  const record = Buffer.alloc(12 + dataLength)
  writeUint16(record, 2, recordType.SOA)
  writeUint16(record, 4, recordClass.IN)
  writeUint16(record, 10, dataLength)
  primaryLabels.copy(record, 12)
  mailboxLabels.copy(record, 12 + primaryLabels.length + 2)
  const numbers = [0, soaTimes.refresh, soaTimes.retry, soaTimes.expire, zone.negativeTtl]
  for (const [index, value] of numbers.entries()) writeUint32(record, record.length - 20 + 4 * index, value)
  return record
}

function finish(query: Query, out: Buffer, end: number, additional: number): number {
  writeUint16(out, 10, additional + (query.hasEdns ? 1 : 0))
  return query.hasEdns ? writeOpt(query, out, end) : end
}

function setTruncated(out: Buffer): void {
  out[2] = (out[2] ?? 0) | (flag.TC >>> 8)
}

function isAddressType(type: number): boolean {
  return type === recordType.A || type === recordType.AAAA
}

/** Reads an address from a label: three single dashes are dots, any others colons. */
function readDashedAddress(label: string): Ip | undefined {
  const dotted = label.split('-').length === 4 && !label.includes('--')
  return parseIp(label.replaceAll('-', dotted ? '.' : ':'))
}
