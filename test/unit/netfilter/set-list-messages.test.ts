import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeSetHeaderList, readSetHeader } from '../../../src/netfilter/set-list-messages.ts'

const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')

test('the headers of all sets are asked for in the attributes of the kernel (ip_set.h)', () => {
  const { type, payload } = encodeSetHeaderList()
  assert.equal(type, 0x607)
  assert.deepEqual(payload, bytesOf('02000000 05000100 06000000 08000640 00000004'))
})

/** A set PLAT-NP-A of the type hash:ip with these attributes in its data. */
const answer = (family: string, data: string) => {
  const length = (4 + bytesOf(data).length).toString(16).padStart(2, '0')
  const type = '0c000300 68617368 3a697000'
  return bytesOf(
    `02000000 05000100 06000000 0e000200 504c4154 2d4e502d 41000000 ${type} 05000500 ${family}000000 05000400 06000000 ${length}000780 ${data}`,
  )
}

test('an answer of the kernel names the form of a set and counts its members', () => {
  const read = readSetHeader(answer('02', '08001240 00000400 08001340 00010000 08001840 00000007'))
  const common = { name: 'PLAT-NP-A', type: 'hash:ip', maxElements: 65_536, count: 7 }
  assert.deepEqual(read, { ...common, family: 'IPv4', counters: false, timeoutSeconds: undefined })
  const counting = answer('0a', '08001340 00010000 08000640 0000003c 08000840 00000008 08001840 00000007')
  assert.deepEqual(readSetHeader(counting), { ...common, family: 'IPv6', counters: true, timeoutSeconds: 60 })
})

test('an answer in another form is refused', () => {
  assert.equal(readSetHeader(bytesOf('02000000 05000100 06000000')), undefined)
  assert.equal(readSetHeader(Buffer.alloc(0)), undefined)
})
