import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DnsFormatError } from '../../../../../src/node/dns/wire/errors.ts'
import { parseRecordText } from '../../../../../src/node/dns/wire/record-text.ts'

for (const [text, type, ttl, hex] of [
  ['x. 60 IN A 10.0.0.1', 1, 60, '0a000001'],
  ['x. IN AAAA ::1', 28, 5, `${'00'.repeat(15)}01`],
  ['x. cname y.z', 5, 5, '0179017a00'],
  ['x. 1 MX 10 m.', 15, 1, '000a016d00'],
  ['x. SRV 1 2 3 t.', 33, 5, '000100020003017400'],
  ['x. TXT "a b" c\\100', 16, 5, '03612062026364'],
  ['x. HINFO cpu os', 13, 5, '03637075026f73'],
  ['x. CAA 0 issue "ca"', 257, 5, '000569737375656361'],
  ['x. SOA a. b. 1 2 3 4 5', 6, 5, '016100016200000000010000000200000003000000040000'.concat('0005')],
  ['x. 7 CLASS3 TYPE1234 \\# 2 beef', 1234, 7, 'beef'],
] as const) {
  test(`${text} becomes a record`, () => {
    const record = parseRecordText(text, 5)
    assert.deepEqual([record.type, record.ttl, record.data.toString('hex')], [type, ttl, hex])
  })
}

for (const text of [
  '',
  'x.',
  'x. 60 IN',
  'x. A 10.0.0',
  'x. A ::1',
  'x. AAAA 10.0.0.1',
  'x. CNAME a b',
  'x. MX a m.',
  'x. TXT',
  'x. SOA a. b. 1',
  'x. DS 1',
  'x. TYPE9 \\# 3 beef',
  'x. 4294967296 A 10.0.0.1',
  'x. TXT "\\999"',
]) {
  test(`${JSON.stringify(text)} is refused`, () => assert.throws(() => parseRecordText(text, 5), DnsFormatError))
}
