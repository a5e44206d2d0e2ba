import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ednsOption, flag, rcode, recordType } from '../../../../../src/node/dns/wire/codes.ts'
import { readMessage } from '../../../../../src/node/dns/wire/message.ts'
import { encodeName, nameText } from '../../../../../src/node/dns/wire/name.ts'
import { Query } from '../../../../../src/node/dns/wire/query.ts'
import { writeError } from '../../../../../src/node/dns/wire/response.ts'
import { makeOption, makeQuery, parsedQuery } from '../../../../helpers/dns-messages.ts'

const out = Buffer.alloc(4096)

function verdict(bytes: Buffer): string {
  return new Query().parse(bytes, bytes.length)
}

function changed(change: (bytes: Buffer) => void, edns = false): Buffer {
  const bytes = makeQuery('web.default.svc.cluster.local', recordType.A, edns ? { edns: {} } : {})
  change(bytes)
  return bytes
}

describe('a query that was received', () => {
  test('is read in place: name, type, class, flags', () => {
    const query = parsedQuery(makeQuery('Web.Default.svc.cluster.local', recordType.SRV, { id: 7, flags: 0x0110 }))
    assert.equal(nameText(query.name), 'Web.Default.svc.cluster.local.')
    assert.deepEqual([query.id, query.type, query.class], [7, recordType.SRV, 1])
    assert.equal(query.udpSize, 512)
    assert.equal(query.hasEdns, false)
  })

  test('EDNS gives size, DO and options; a size below 512 counts as 512', () => {
    const options = makeOption(ednsOption.COOKIE, Buffer.from('12345678'))
    const query = parsedQuery(makeQuery('x.', recordType.A, { edns: { udpSize: 100, dnssecOk: true, options } }))
    assert.deepEqual([query.hasEdns, query.udpSize, query.dnssecOk], [true, 512, true])
    const cookie = query.option(ednsOption.COOKIE)
    assert.equal(query.bytes.toString('latin1', cookie?.start, cookie?.end), '12345678')
    assert.equal(query.option(ednsOption.NSID), undefined)
  })

  for (const [what, bytes, expected] of [
    ['shorter than a header', Buffer.alloc(11), 'drop'],
    ['an answer', changed((b) => b.writeUInt16BE(0x8180, 2)), 'drop'],
    ['a NOTIFY', changed((b) => b.writeUInt16BE(0x2000, 2)), 'notimp'],
    ['an UPDATE', changed((b) => b.writeUInt16BE(0x2800, 2)), 'notimp'],
    ['without question', changed((b) => b.writeUInt16BE(0, 4)), 'formerr'],
    ['with two questions', changed((b) => b.writeUInt16BE(2, 4)), 'formerr'],
    ['with two answers', changed((b) => b.writeUInt16BE(2, 6)), 'formerr'],
    ['with two authority records', changed((b) => b.writeUInt16BE(2, 8)), 'formerr'],
    ['with three additional records', changed((b) => b.writeUInt16BE(3, 10)), 'formerr'],
    ['with a record that is not there', changed((b) => b.writeUInt16BE(1, 10)), 'formerr'],
    ['with a pointer as its name', changed((b) => b.writeUInt16BE(0xc00c, 12)), 'formerr'],
    ['with a label of 64 bytes', changed((b) => b.writeUInt8(64, 12)), 'formerr'],
    ['cut within its name', makeQuery('web.default', recordType.A).subarray(0, 20), 'formerr'],
    ['cut within its class', makeQuery('x', recordType.A).subarray(0, 17), 'formerr'],
    ['of EDNS version 1', makeQuery('x', recordType.A, { edns: { version: 1 } }), 'badvers'],
    [
      'with an EDNS option that ends nowhere',
      makeQuery('x', 1, { edns: { options: Buffer.of(0, 10, 9, 9) } }),
      'formerr',
    ],
    ['with half an EDNS option', makeQuery('x', 1, { edns: { options: Buffer.of(0, 10, 0) } }), 'formerr'],
  ] as const) {
    test(`${what}: ${expected}`, () => assert.equal(verdict(bytes), expected))
  }

  test('two OPT records, or one whose name is not the root, are FORMERR', () => {
    const opt = makeQuery('x', 1, { edns: {} }).subarray(-11)
    const twice = Buffer.concat([makeQuery('x', 1, { edns: {} }), opt])
    twice.writeUInt16BE(2, 10)
    assert.equal(verdict(twice), 'formerr')
    const named = Buffer.concat([makeQuery('x', 1), encodeName('a'), opt.subarray(1)])
    named.writeUInt16BE(1, 10)
    assert.equal(verdict(named), 'formerr')
  })

  test('one Query object reads one message after the other', () => {
    const query = new Query()
    const first = makeQuery('x', 1, { edns: { udpSize: 4096, dnssecOk: true } })
    query.parse(first, first.length)
    const second = makeQuery('y', 28)
    assert.equal(query.parse(second, second.length), 'ok')
    assert.deepEqual([query.hasEdns, query.udpSize, query.dnssecOk, query.type], [false, 512, false, 28])
  })
})

describe('an answer that is only an rcode', () => {
  test('echoes ID, RD, CD and question, and OPT with COOKIE and NSID but no client subnet', () => {
    const cookie = makeOption(ednsOption.COOKIE, Buffer.from('12345678'))
    const options = Buffer.concat([makeOption(8, Buffer.of(0, 1, 24, 0, 10, 0, 0)), cookie])
    const query = parsedQuery(
      makeQuery('Web.x', recordType.A, { id: 99, flags: 0x0110, edns: { udpSize: 1400, dnssecOk: true, options } }),
    )
    const message = readMessage(out, writeError(query, out, rcode.REFUSED))
    assert.equal(message.id, 99)
    assert.equal(message.flags, flag.QR | flag.RD | flag.CD | rcode.REFUSED)
    assert.equal(nameText(message.question?.name ?? Buffer.of(0)), 'Web.x.')
    assert.deepEqual(message.edns, { udpSize: 1400, dnssecOk: true, options: cookie })
  })

  test('an extended rcode is split between header and OPT', () => {
    const bytes = makeQuery('x', recordType.A, { edns: { version: 3 } })
    const query = new Query()
    assert.equal(query.parse(bytes, bytes.length), 'badvers')
    assert.equal(readMessage(out, writeError(query, out, rcode.BADVERS)).rcode, rcode.BADVERS)
  })

  test('a query whose question cannot be read gets a bare header; an unknown opcode is echoed', () => {
    const bytes = changed((b) => b.writeUInt16BE(0x2900, 2))
    const query = new Query()
    assert.equal(query.parse(bytes, bytes.length), 'notimp')
    const length = writeError(query, out, rcode.NOTIMP)
    assert.equal(length, 12)
    assert.equal(out.readUInt16BE(2), 0xa900 | rcode.NOTIMP)
    assert.equal(out.readUInt16BE(4), 0)
  })
})
