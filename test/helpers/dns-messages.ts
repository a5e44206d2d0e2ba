import fc from 'fast-check'
import { recordClass, recordType } from '../../src/node/dns/wire/codes.ts'
import { encodeName } from '../../src/node/dns/wire/name.ts'
import { Query } from '../../src/node/dns/wire/query.ts'
import {
  addressRecord,
  type DnsRecord,
  makeRecord,
  mxData,
  soaData,
  srvData,
  txtData,
} from '../../src/node/dns/wire/record.ts'
import type { Reply } from '../../src/node/dns/wire/response.ts'
import { ip } from './services.ts'

export interface QueryDetails {
  readonly id?: number
  /** The header's flags; RD when not given. */
  readonly flags?: number
  readonly class?: number
  readonly edns?: {
    readonly udpSize?: number
    readonly dnssecOk?: boolean
    readonly version?: number
    readonly options?: Buffer
  }
}

/** A query as a client sends it. */
export function makeQuery(name: string, type: number, details: QueryDetails = {}): Buffer {
  const { id = 0x1234, flags = 0x0100, edns } = details
  const header = Buffer.alloc(12)
  for (const [index, value] of [id, flags, 1, 0, 0, edns === undefined ? 0 : 1].entries()) {
    header.writeUInt16BE(value, index * 2)
  }
  const asked = Buffer.alloc(4)
  asked.writeUInt16BE(type, 0)
  asked.writeUInt16BE(details.class ?? recordClass.IN, 2)
  return Buffer.concat([header, encodeName(name), asked, edns === undefined ? Buffer.alloc(0) : optRecord(edns)])
}

function optRecord(edns: NonNullable<QueryDetails['edns']>): Buffer {
  const { udpSize = 1232, dnssecOk = false, version = 0, options = Buffer.alloc(0) } = edns
  const opt = Buffer.alloc(11)
  opt.writeUInt16BE(recordType.OPT, 1)
  opt.writeUInt16BE(udpSize, 3)
  opt[6] = version
  opt[7] = dnssecOk ? 0x80 : 0
  opt.writeUInt16BE(options.length, 9)
  return Buffer.concat([opt, options])
}

/** An EDNS option with its data. */
export function makeOption(code: number, data: Buffer): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt16BE(code, 0)
  head.writeUInt16BE(data.length, 2)
  return Buffer.concat([head, data])
}

export function parsedQuery(bytes: Buffer): Query {
  const query = new Query()
  const verdict = query.parse(bytes, bytes.length)
  if (verdict !== 'ok') throw new Error(`the query was not taken: ${verdict}`)
  return query
}

const label = fc.stringMatching(/^[a-zA-Z0-9_]([-a-zA-Z0-9]{0,14}[a-zA-Z0-9])?$/)

/** Names of a small tree, so that suffixes meet and compress. */
export const anyNameText: fc.Arbitrary<string> = fc
  .tuple(fc.array(label, { maxLength: 4 }), fc.constantFrom('svc.cluster.local.', 'example.org.', 'x.'))
  .map(([labels, tail]) => [...labels, tail].join('.'))

const anyName = anyNameText.map(encodeName)
const anyUint16 = fc.nat(0xffff)
const anyIp = fc.oneof(
  fc.ipV4().map((text) => ip(text)),
  fc.constantFrom('::1', 'fd00::1', '2001:db8::ff').map((text) => ip(text)),
)
const anyData: fc.Arbitrary<{ type: number; data: Buffer }> = fc.oneof(
  anyIp.map((address) => pick(addressRecord(encodeName('.'), 0, address))),
  fc.tuple(anyUint16, anyUint16, anyUint16, anyName).map((srv) => ({ type: recordType.SRV, data: srvData(...srv) })),
  fc
    .tuple(fc.constantFrom(recordType.CNAME, recordType.NS, recordType.PTR), anyName)
    .map(([type, data]) => ({ type, data })),
  fc.tuple(anyUint16, anyName).map((mx) => ({ type: recordType.MX, data: mxData(...mx) })),
  fc
    .array(fc.stringMatching(/^[ -~]{0,40}$/), { minLength: 1, maxLength: 3 })
    .map((strings) => ({ type: recordType.TXT, data: txtData(strings.map((text) => Buffer.from(text))) })),
  fc
    .tuple(anyName, anyName, fc.nat())
    .map(([primary, mailbox, serial]) =>
      soaData({ primary, mailbox, serial, refresh: 1, retry: 2, expire: 3, minimum: 4 }),
    )
    .map((data) => ({ type: recordType.SOA, data })),
)

function pick({ type, data }: DnsRecord) {
  return { type, data }
}

const anyRecord: fc.Arbitrary<DnsRecord> = fc
  .tuple(anyName, anyData, fc.nat(86_400))
  .map(([name, { type, data }, ttl]) => makeRecord(name, type, ttl, data))

export const anyReply: fc.Arbitrary<Reply> = fc.record({
  rcode: fc.constantFrom(0, 2, 3, 5),
  flags: fc.constantFrom(0, 0x0400, 0x0080),
  answer: fc.array(anyRecord, { maxLength: 6 }),
  authority: fc.array(anyRecord, { maxLength: 2 }),
  additional: fc.array(anyRecord, { maxLength: 4 }),
})
