import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import DNS from 'dns2'
import fc from 'fast-check'
import { flag, recordType } from '../../../../src/node/dns/wire/codes.ts'
import { DnsFormatError } from '../../../../src/node/dns/wire/errors.ts'
import { readLayout, readMessage } from '../../../../src/node/dns/wire/message.ts'
import { encodeName, foldName, nameText } from '../../../../src/node/dns/wire/name.ts'
import { answersQuestion, writeRawReply } from '../../../../src/node/dns/wire/raw.ts'
import { targetName } from '../../../../src/node/dns/wire/rdata.ts'
import type { DnsRecord } from '../../../../src/node/dns/wire/record.ts'
import { type Reply, writeReply } from '../../../../src/node/dns/wire/response.ts'
import { anyNameText, anyReply, makeQuery, parsedQuery } from '../../../helpers/dns-messages.ts'
import { fuzzParsers } from '../../../helpers/fuzz-dns.ts'

const out = Buffer.alloc(65_535)
const anyEdns = fc.option(fc.record({ udpSize: fc.constantFrom(512, 1232, 4096), dnssecOk: fc.boolean() }), {
  nil: undefined,
})

/** As text that two records share if they differ by nothing but the case of names. */
function describeRecord({ name, type, class: recordClass, ttl, data }: DnsRecord): string {
  return [nameText(foldName(name)), type, recordClass, ttl, foldName(data).toString('hex')].join(' ')
}

function describeReply(reply: Pick<Reply, 'answer' | 'authority' | 'additional'>): string[][] {
  return [reply.answer, reply.authority, reply.additional].map((records) => records.map(describeRecord))
}

function queryFor(name: string, edns: { udpSize: number; dnssecOk: boolean } | undefined) {
  return parsedQuery(makeQuery(name, recordType.A, edns === undefined ? {} : { edns }))
}

describe('messages as we write them', () => {
  test('are read again as they were meant', () => {
    fc.assert(
      fc.property(anyNameText, anyReply, anyEdns, (name, reply, edns) => {
        const query = queryFor(name, edns)
        const length = writeReply(query, reply, out, 65_535)
        const message = readMessage(out, length)
        assert.equal(message.rcode, reply.rcode)
        assert.equal(message.flags & flag.TC, 0)
        assert.deepEqual(message.question?.name, encodeName(name))
        assert.deepEqual(describeReply(message), describeReply(reply))
        assert.equal(message.edns?.udpSize, edns?.udpSize)
      }),
    )
  })

  test('are read by dns2 as they were meant', () => {
    fc.assert(
      fc.property(anyNameText, anyReply, (name, reply) => {
        const packet = DNS.Packet.parse(
          Buffer.from(out.subarray(0, writeReply(queryFor(name, undefined), reply, out, 65_535))),
        )
        assert.deepEqual(packet.errors, [])
        const read = [packet.answers, packet.authorities, packet.additionals]
        const written = [reply.answer, reply.authority, reply.additional]
        assert.deepEqual(
          read.map((records) => records.map(describeForeign)),
          written.map((records) => records.map(describeOwn)),
        )
      }),
    )
  })

  test('within any limit hold whole records from the front, OPT, and TC exactly where something is missing', () => {
    fc.assert(
      fc.property(anyNameText, anyReply, anyEdns, fc.integer({ min: 512, max: 1500 }), (name, reply, edns, limit) => {
        const length = writeReply(queryFor(name, edns), reply, out, limit)
        const message = readMessage(out, length)
        const [whole, kept] = [describeReply(reply).flat(), describeReply(message).flat()]
        assert.ok(length <= limit)
        assert.deepEqual(kept, whole.slice(0, kept.length))
        assert.equal((message.flags & flag.TC) !== 0, kept.length < whole.length)
        assert.equal(message.edns !== undefined, edns !== undefined)
      }),
    )
  })
})

describe('answers of upstreams passed on', () => {
  const anyPassing = fc.tuple(anyNameText, anyReply, anyEdns, anyEdns, fc.integer({ min: 512, max: 1500 }), fc.nat(100))

  test('keep their records and get the ID, case, OPT and age of the query', () => {
    fc.assert(
      fc.property(anyPassing, ([name, reply, upstreamEdns, edns, limit, ageSeconds]) => {
        const length = writeReply(queryFor(name, upstreamEdns), reply, out, 65_535)
        const upstream = Buffer.from(out.subarray(0, length))
        const query = parsedQuery(makeQuery(name.toUpperCase(), recordType.A, { id: 77, ...(edns && { edns }) }))
        const plan = readLayout(upstream, length)
        assert.ok(answersQuestion(query, upstream, plan))
        const message = readMessage(out, writeRawReply(query, upstream, plan, out, { limit, ageSeconds }))
        const aged = (record: DnsRecord) => ({ ...record, ttl: Math.max(0, record.ttl - ageSeconds) })
        const { answer, authority, additional } = reply
        const whole = [answer, authority, additional].flatMap((records) => records.map(aged).map(describeRecord))
        const kept = describeReply(message).flat()
        assert.deepEqual(kept, whole.slice(0, kept.length))
        assert.equal((message.flags & flag.TC) !== 0, kept.length < whole.length)
        assert.deepEqual([message.id, message.rcode, message.edns?.udpSize], [77, reply.rcode, edns?.udpSize])
        assert.deepEqual(message.question?.name, encodeName(name.toUpperCase()))
      }),
    )
  })

  test('are not answers to another question', () => {
    const query = parsedQuery(makeQuery('a.example.org', recordType.HTTPS))
    for (const other of [
      makeQuery('a.example.org', recordType.HTTPS),
      makeQuery('b.example.org', recordType.HTTPS, { flags: 0x8180 }),
      makeQuery('a.example.org', recordType.HTTPS | 0x20, { flags: 0x8180 }),
      makeQuery('a.example.org', recordType.HTTPS, { flags: 0x8180, class: 3 }),
    ]) {
      assert.ok(!answersQuestion(query, other, readLayout(other, other.length)))
    }
  })
})

describe('messages that are not', () => {
  test('50,000 mutants end in an answer or in a format error, none in more than 5 ms', () => {
    assert.equal(fuzzParsers(50_000, 1), 50_000)
  })

  test('64 KB of pointers to pointers are read or refused in bounded steps', () => {
    const message = Buffer.alloc(65_535)
    message.writeUInt16BE(0x8180, 2)
    message.writeUInt16BE(5000, 6)
    let at = 23
    let previous = 12
    for (let record = 0; record < 4999; record++) {
      message.writeUInt16BE(0xc000 | (previous & 0x3fff), at)
      previous = at
      message.writeUInt16BE(recordType.TXT, at + 2)
      at += 12
    }
    assert.throws(() => readMessage(message, at), DnsFormatError)
    assert.equal(readLayout(message, at).records.length, 5000)
  })
})

function describeForeign(record: DNS.Packet.Resource): string {
  const { type, ttl } = record
  const name = `${record.name}.`.toLowerCase()
  return [name, type, ttl, foreignData(record)].join(' ').toLowerCase()
}

function foreignData(record: DNS.Packet.Resource): string {
  if (record.address !== undefined) return record.address
  if (record.target !== undefined) return `${record.port} ${record.target}`
  if (record.exchange !== undefined) return record.exchange
  if (record.primary !== undefined) return `${record.primary} ${record.admin} ${record.serial}`
  return record.ns ?? record.domain ?? [record.data].flat().join('|')
}

function describeOwn({ name, type, ttl, data }: DnsRecord): string {
  return [nameText(name), type, ttl, ownData(type, data)].join(' ').toLowerCase()
}

function ownData(type: number, data: Buffer): string {
  if (type === recordType.A) return data.join('.')
  if (type === recordType.AAAA) return new URL(`http://[${groups(data)}]`).hostname.slice(1, -1)
  if (type === recordType.TXT) return strings(data).join('|')
  if (type === recordType.SOA) return soaText(data)
  const target = nameText(targetName(type, data) ?? Buffer.of(0)).replace(/\.$/, '')
  return type === recordType.SRV ? `${data.readUInt16BE(4)} ${target}` : target
}

function soaText(data: Buffer): string {
  const primary = nameText(data).replace(/\.$/, '')
  const mailbox = nameText(data, data.indexOf(0) + 1).replace(/\.$/, '')
  return `${primary} ${mailbox} ${data.readUInt32BE(data.length - 20)}`
}

function groups(data: Buffer): string {
  return (data.toString('hex').match(/.{4}/g) ?? []).join(':')
}

function strings(data: Buffer): string[] {
  const texts: string[] = []
  for (let at = 0; at < data.length; at += (data[at] ?? 0) + 1) {
    texts.push(data.toString('latin1', at + 1, at + 1 + (data[at] ?? 0)))
  }
  return texts
}
