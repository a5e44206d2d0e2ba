import { writeUint16 } from '../../src/node/dns/wire/bytes.ts'
import { flag, rcode, recordType, typeCode } from '../../src/node/dns/wire/codes.ts'
import { readMessage } from '../../src/node/dns/wire/message.ts'
import { encodeName, nameText } from '../../src/node/dns/wire/name.ts'
import { headerLength, Query } from '../../src/node/dns/wire/query.ts'
import { addressRecord, type DnsRecord, makeRecord, soaData } from '../../src/node/dns/wire/record.ts'
import { writeReply } from '../../src/node/dns/wire/response.ts'
import { ipOf } from './addresses.ts'

export interface QuestionShape {
  readonly type?: string
  readonly id?: number
  /** UDP size of an OPT record; none without. */
  readonly edns?: number
  readonly flags?: number
}

/** The bytes of a question. */
export function questionBytes(name: string, shape: QuestionShape = {}): Buffer {
  const wireName = encodeName(name)
  const opt = shape.edns === undefined ? Buffer.alloc(0) : Buffer.of(0, 0, recordType.OPT, 0, 0, 0, 0, 0, 0, 0, 0)
  if (shape.edns !== undefined) writeUint16(opt, 3, shape.edns)
  const message = Buffer.alloc(headerLength + wireName.length + 4 + opt.length)
  writeUint16(message, 0, shape.id ?? 0x1234)
  writeUint16(message, 2, shape.flags ?? flag.RD)
  writeUint16(message, 4, 1)
  writeUint16(message, 10, opt.length > 0 ? 1 : 0)
  wireName.copy(message, headerLength)
  writeUint16(message, headerLength + wireName.length, typeCode(shape.type ?? 'A') ?? 0)
  writeUint16(message, headerLength + wireName.length + 2, 1)
  opt.copy(message, headerLength + wireName.length + 4)
  return message
}

export function queryOf(name: string, shape: QuestionShape = {}): Query {
  const bytes = questionBytes(name, shape)
  const query = new Query()
  query.parse(bytes, bytes.length)
  return query
}

export interface AnswerShape {
  readonly rcode?: number
  readonly addresses?: readonly string[]
  readonly ttl?: number
  /** TTL and minimum of a SOA in the authority section. */
  readonly soa?: { readonly ttl: number; readonly minimum: number }
  readonly flags?: number
}

/** What an upstream might answer to those bytes. */
export function answerBytes(question: Buffer, shape: AnswerShape = {}): Buffer {
  const query = new Query()
  query.parse(question, question.length)
  const name = Buffer.from(query.name)
  const answer: DnsRecord[] = (shape.addresses ?? []).map((ip) => addressRecord(name, shape.ttl ?? 60, ipOf(ip)))
  const authority = shape.soa ? [soaRecord(shape.soa)] : []
  const reply = {
    rcode: shape.rcode ?? rcode.NOERROR,
    flags: flag.RA | (shape.flags ?? 0),
    answer,
    authority,
    additional: [],
  }
  const out = Buffer.alloc(65_535)
  return Buffer.from(out.subarray(0, writeReply(query, reply, out, out.length)))
}

function soaRecord({ ttl, minimum }: { readonly ttl: number; readonly minimum: number }): DnsRecord {
  const [primary, mailbox] = [encodeName('ns.example.'), encodeName('admin.example.')]
  const data = soaData({ primary, mailbox, serial: 1, refresh: 7200, retry: 1800, expire: 86_400, minimum })
  return makeRecord(encodeName('example.'), recordType.SOA, ttl, data)
}

export interface SeenAnswer {
  readonly id: number
  readonly flags: number
  readonly rcode: number
  readonly name: string
  /** `A 192.0.2.1 60`: type, data, TTL. */
  readonly records: readonly string[]
  readonly authority: readonly string[]
}

/** An answer as a test compares it. */
export function seeAnswer(message: Buffer): SeenAnswer {
  const { id, flags, rcode: code, question, answer, authority } = readMessage(message, message.length)
  return {
    id,
    flags,
    rcode: code,
    name: question ? nameText(question.name) : '',
    records: answer.map(seeRecord),
    authority: authority.map(seeRecord),
  }
}

function seeRecord({ type, data, ttl }: DnsRecord): string {
  const shown = type === recordType.A ? [...data].join('.') : data.toString('hex')
  const name = Object.entries(recordType).find(([, code]) => code === type)?.[0] ?? String(type)
  return `${name} ${type === recordType.SOA ? '' : `${shown} `}${ttl}`
}
