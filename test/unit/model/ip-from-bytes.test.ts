import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ipFromBytes } from '../../../src/model/ip.ts'

const read = (hex: string) => ipFromBytes(Buffer.from(hex, 'hex'))

test('an address in the order of the network is read in its canonical text', () => {
  assert.equal(read('0a000001'), '10.0.0.1')
  assert.equal(read('fd00000000000000000000000000abcd'), 'fd00::abcd')
  assert.equal(read('20010db800010002000300040005000f'), '2001:db8:1:2:3:4:5:f')
  assert.equal(read('00000000000000000000000000000000'), '::')
  assert.equal(read('00000000000000000000ffff0a000001'), '10.0.0.1')
})

test('other numbers of bytes are no address', () => {
  for (const hex of ['', '0a0000', '0a00000100', 'fd000000000000000000000000000001ff'])
    assert.equal(read(hex), undefined)
})
