import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeName } from '../../../../../src/node/dns/wire/name.ts'
import { makeRecord } from '../../../../../src/node/dns/wire/record.ts'
import { recordLine } from '../../../../../src/node/dns/wire/record-line.ts'
import { parseRecordText } from '../../../../../src/node/dns/wire/record-text.ts'

test('A record that was read from a line of a zone file is rendered as that line.', () => {
  const lines = [
    'web.example. 30 IN A 192.0.2.1',
    'web.example. 30 IN AAAA 2001:db8::1',
    'www.example. 5 IN CNAME web.example.',
    '1.2.0.192.in-addr.arpa. 5 IN PTR web.example.',
    'example. 5 IN MX 10 mail.example.',
    '_http._tcp.example. 5 IN SRV 0 100 80 web.example.',
    'example. 5 IN TXT "one \\"quoted\\"" "two"',
    'example. 5 IN SOA ns.example. admin.example. 1 7200 1800 86400 5',
  ]
  assert.deepEqual(
    lines.map((line) => recordLine(parseRecordText(line, 30))),
    lines,
  )
})

test('Bytes that no terminal or page should see, and types without a form, are escaped.', () => {
  const name = encodeName('example')
  assert.equal(
    recordLine(makeRecord(name, 16, 5, Buffer.from('\x03a\x1b\xff', 'latin1'))),
    'example. 5 IN TXT "a\\027\\255"',
  )
  assert.equal(recordLine(makeRecord(name, 4711, 5, Buffer.from([1, 2]))), 'example. 5 IN TYPE4711 \\# 2 0102')
})
