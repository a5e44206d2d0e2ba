import type { Ip } from '../../../model/ip.ts'
import { writeUint16, writeUint32 } from '../wire/bytes.ts'
import { recordClass, recordType } from '../wire/codes.ts'
import type { WireName } from '../wire/name.ts'
import { headerLength } from '../wire/query.ts'
import { targetName } from '../wire/rdata.ts'
import { type DnsRecord, writeAddress } from '../wire/record.ts'

/** The answer to one type of question about a name. */
export type PlannedAnswer = PlannedRecords | PlannedAddresses

interface PlannedRecords {
  readonly type: number
  readonly answer: readonly DnsRecord[]
  readonly additional: readonly DnsRecord[]
}

/** The name's own addresses, all of one family. There may be thousands, so they do not become records one by one. */
interface PlannedAddresses {
  readonly type: number
  readonly ttl: number
  readonly addresses: readonly Ip[]
}

/** A name of the zone with all its answers. A name without answers exists because there are names below it. */
export interface PlannedName {
  /** The name in lower case. */
  readonly name: WireName
  readonly answers: readonly PlannedAnswer[]
  readonly podParent?: boolean
}

/** The records of an answer as they stand in a message after the question. */
export interface AnswerBody {
  readonly bytes: Buffer
  /** The length of each record where all are addresses of one family, so that they may be rotated; else 0. */
  readonly stride: number
  readonly answers: number
  readonly additional: number
}

const pointerReach = 0x4000

export function encodeBody(name: WireName, planned: PlannedAnswer): AnswerBody {
  return 'addresses' in planned ? encodeAddresses(planned) : encodeRecords(name, planned)
}

/** Encodes address records whose owner is a pointer to the question. */
function encodeAddresses({ type, ttl, addresses }: PlannedAddresses): AnswerBody {
  const dataLength = type === recordType.A ? 4 : 16
  const stride = 12 + dataLength
  const bytes = Buffer.allocUnsafe(stride * addresses.length)
  let at = 0
  for (const address of addresses) {
    writeUint16(bytes, at, 0xc000 | headerLength)
    writeUint16(bytes, at + 2, type)
    writeUint16(bytes, at + 4, recordClass.IN)
    writeUint32(bytes, at + 6, ttl)
    writeUint16(bytes, at + 10, dataLength)
    writeAddress(bytes, at + 12, address)
    at += stride
  }
  return { bytes, stride, answers: addresses.length, additional: 0 }
}

/** Encodes records. An owner is a pointer to the question, or to a target that stands before it; data stays as it is. */
function encodeRecords(name: WireName, { type, answer, additional }: PlannedRecords): AnswerBody {
  const out = Buffer.allocUnsafe(bodyBound(answer) + bodyBound(additional))
  const start = headerLength + name.length + 4
  const positions = new Map<string, number>([[name.toString('latin1'), headerLength]])
  let at = 0
  for (const record of [...answer, ...additional]) {
    at = writeOwner(out, at, record.name, positions)
    writeUint16(out, at, record.type)
    writeUint16(out, at + 2, recordClass.IN)
    writeUint32(out, at + 4, record.ttl)
    writeUint16(out, at + 8, record.data.length)
    rememberTarget(record, start + at + 10, positions)
    at += 10 + record.data.copy(out, at + 10)
  }
  const stride = strideOf(type, at, answer.length, additional.length)
  return { bytes: out.subarray(0, at), stride, answers: answer.length, additional: additional.length }
}

function bodyBound(records: readonly DnsRecord[]): number {
  return records.reduce((sum, { name, data }) => sum + name.length + 10 + data.length, 0)
}

function writeOwner(out: Buffer, at: number, owner: WireName, positions: ReadonlyMap<string, number>): number {
  const position = positions.get(owner.toString('latin1'))
  if (position === undefined) return at + owner.copy(out, at)
  writeUint16(out, at, 0xc000 | position)
  return at + 2
}

function rememberTarget({ type, data }: DnsRecord, dataAt: number, positions: Map<string, number>): void {
  const target = targetName(type, data)
  if (target === undefined) return
  const position = dataAt + data.length - target.length
  const key = target.toString('latin1')
  if (position < pointerReach && !positions.has(key)) positions.set(key, position)
}

function strideOf(type: number, length: number, answers: number, additional: number): number {
  if (additional > 0 || answers === 0) return 0
  return type === recordType.A || type === recordType.AAAA ? length / answers : 0
}
