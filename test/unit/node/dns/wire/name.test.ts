import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DnsFormatError } from '../../../../../src/node/dns/wire/errors.ts'
import {
  encodeName,
  foldName,
  isUnder,
  labelCount,
  nameText,
  readName,
  sameName,
  skipName,
  skipPlainName,
} from '../../../../../src/node/dns/wire/name.ts'

const hasCode = (code: string) => (error: unknown) => error instanceof DnsFormatError && error.code === code

describe('names in the wire', () => {
  test('text becomes labels with their lengths; the final dot is optional', () => {
    assert.deepEqual(encodeName('a.bc.'), Buffer.from('\x01a\x02bc\x00', 'latin1'))
    assert.deepEqual(encodeName('a.bc'), encodeName('a.bc.'))
    assert.deepEqual(encodeName('.'), Buffer.of(0))
  })

  test('bytes that text cannot show are escaped in both directions', () => {
    const wire = encodeName('a\\.b\\\\.\\000\\255.org.')
    assert.deepEqual(wire, Buffer.from('\x04a.b\\\x02\x00\xff\x03org\x00', 'latin1'))
    assert.equal(nameText(wire), 'a\\.b\\\\.\\000\\255.org.')
  })

  for (const [what, text, code] of [
    ['an empty label', 'a..b', 'label'],
    ['a label of 64 bytes', 'a'.repeat(64), 'label'],
    ['a name of 256 bytes', 'abcdefg.'.repeat(32), 'name-too-long'],
    ['an escape beyond a byte', '\\256.x', 'text'],
    ['an escape of nothing', 'x\\', 'text'],
    ['a character beyond Latin-1', 'ż.x', 'text'],
  ] as const) {
    test(`${what} is refused`, () => assert.throws(() => encodeName(text), hasCode(code)))
  }

  test('the longest name has 255 bytes', () => {
    const text = `${'abcdefg.'.repeat(31)}abcde`
    assert.equal(encodeName(text).length, 255)
    assert.equal(readName(encodeName(text), 0, 255).next, 255)
  })

  test('pointers are resolved where they lead backwards', () => {
    const message = Buffer.from('\x03com\x00\x01a\xc0\x00\x01b\xc0\x05', 'latin1')
    const { name, next } = readName(message, 9, message.length)
    assert.equal(nameText(name), 'b.a.com.')
    assert.equal(next, 13)
    assert.equal(skipName(message, 9, message.length), 13)
    assert.equal(skipPlainName(message, 9, message.length), -1)
  })

  for (const [what, bytes, at] of [
    ['to itself', '\xc0\x00', 0],
    ['forwards', '\xc0\x03\x00\x00', 0],
    ['in a ring', '\xc0\x02\xc0\x00', 2],
    ['to a part that leads back into this one', '\x01a\x01b\xc0\x00', 2],
  ] as const) {
    test(`a pointer ${what} is refused or ends`, () => {
      const message = Buffer.from(bytes, 'latin1')
      assert.throws(() => readName(message, at, message.length), DnsFormatError)
    })
  }

  test('more than 126 pointers are refused', () => {
    const chain = (hops: number) => {
      const message = Buffer.alloc(1 + 2 * hops)
      for (let hop = 0; hop < hops; hop++) message.writeUInt16BE(0xc000 | Math.max(0, 2 * hop - 1), 1 + 2 * hop)
      return message
    }
    assert.equal(nameText(readName(chain(126), 251, 253).name), '.')
    assert.throws(() => readName(chain(127), 253, 255), hasCode('pointer'))
  })

  test('a name that the message ends in is refused', () => {
    for (const bytes of ['', '\x03ab', '\x01a', '\xc0', '\x40a\x00']) {
      const message = Buffer.from(bytes, 'latin1')
      assert.throws(() => readName(message, 0, message.length), DnsFormatError)
      assert.equal(skipName(message, 0, message.length), -1)
    }
  })

  test('names are compared without case, by whole labels', () => {
    assert.ok(sameName(encodeName('WEB.Default'), encodeName('web.default')))
    assert.ok(isUnder(encodeName('a.Cluster.Local'), encodeName('cluster.local')))
    assert.ok(isUnder(encodeName('cluster.local'), encodeName('cluster.local')))
    assert.ok(isUnder(encodeName('cluster.local'), encodeName('.')))
    assert.ok(!isUnder(encodeName('xcluster.local'), encodeName('cluster.local')))
    assert.ok(!isUnder(encodeName('a\\007cluster\\005local'), encodeName('cluster.local')))
    assert.ok(!isUnder(encodeName('local'), encodeName('cluster.local')))
    assert.equal(nameText(foldName(encodeName('WEB.Default'))), 'web.default.')
    assert.equal(labelCount(encodeName('a.b.c')), 3)
  })
})
