import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAttribute } from '../../../../src/netfilter/netlink.ts'
import {
  decodeKey,
  encodeElementChange,
  encodeElementQuery,
  encodeStateChange,
  readElements,
} from '../../../../src/netfilter/nft/element-messages.ts'
import type { SetSpec } from '../../../../src/netfilter/nft/types.ts'

const table = { family: 'IPv4', name: 'platnet' } as const
const endpoints: SetSpec = {
  name: 'endpoints',
  key: ['ipv4_addr', 'inet_proto', 'inet_service', 'classid'],
  data: ['ipv4_addr', 'inet_service'],
  isInterval: false,
}
const admitted: SetSpec = { name: 'admitted', key: ['inet_service', 'ipv4_addr'], data: [], isInterval: true }
const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex')
const value = (type: number, hex: string) => encodeAttribute(type, encodeAttribute(1, bytesOf(hex)))
const answer = (...elements: readonly Buffer[][]) => {
  const items = elements.map((parts) => encodeAttribute(1, Buffer.concat(parts)))
  return Buffer.concat([Buffer.from([2, 0, 0, 5]), encodeAttribute(3, Buffer.concat(items))])
}

test('an element has the text that it was written with, and its comment and times', () => {
  const milliseconds = Buffer.alloc(8)
  milliseconds.writeBigUInt64BE(60_000n)
  const element = [
    value(1, '0a600001 06000000 00500000 01000500'),
    value(2, '0af40001 1f900000'),
    encodeAttribute(4, milliseconds),
    encodeAttribute(5, milliseconds),
    encodeAttribute(6, Buffer.from('\x01\x01?\0\x03ab\0')),
  ]
  assert.deepEqual(readElements(answer(element, element.slice(0, 2)), endpoints), [
    {
      set: 'endpoints',
      key: '10.96.0.1 . tcp . 80 . 5:1',
      data: '10.244.0.1 . 8080',
      comment: 'ab',
      timeoutMs: 60_000,
      expiresMs: 60_000,
    },
    { set: 'endpoints', key: '10.96.0.1 . tcp . 80 . 5:1', data: '10.244.0.1 . 8080' },
  ])
})

test('a query has the bytes that the kernel lists, and other texts are refused', () => {
  const { payload } = encodeElementQuery(table, endpoints, '10.96.0.1 . tcp . 80 . 5:1')
  assert.ok(payload.includes(bytesOf('0a600001 06000000 00500000 01000500')))
  assert.throws(() => encodeElementQuery(table, endpoints, '10.96.0.1 . tcp'), RangeError)
  assert.throws(() => encodeElementQuery(table, endpoints, '10.96.0.1 . tcp . 65536 . 0:1'), RangeError)
})

test('what is encoded as a change is read back as the same elements', () => {
  const elements = [
    { key: '10.96.0.1 . tcp . 80 . 0:1', data: '10.244.0.1 . 8080' },
    { key: '255.255.255.255 . sctp . 65535 . ffff:ffff', data: '0.0.0.1 . 1' },
  ]
  const added = encodeElementChange('add', table, endpoints, elements)
  assert.deepEqual(
    readElements(added.payload, endpoints),
    elements.map((element) => ({ set: 'endpoints', ...element })),
  )
  const removed = encodeElementChange('delete', table, { ...endpoints, data: [] }, elements)
  assert.deepEqual(
    readElements(removed.payload, { ...endpoints, data: [] })?.map(({ key, data }) => [key, data]),
    elements.map(({ key }) => [key, '']),
  )
  assert.deepEqual([added.creates, removed.creates], [true, undefined])
})

test('the state is replaced by an element with its comment', () => {
  const [removed, added] = encodeStateChange(table, 'version 1 objects 2 listing 3')
  const state: SetSpec = { name: 'state', key: ['classid'], data: [], isInterval: false }
  const read = [removed, added].map((message) => readElements(message?.payload ?? Buffer.alloc(0), state)?.[0])
  assert.deepEqual(read, [
    { set: 'state', key: '0:1', data: '' },
    { set: 'state', key: '0:1', data: '', comment: 'version 1 objects 2 listing 3' },
  ])
})

for (const [start, end, text] of [
  ['0a000000', '0affffff', '80 . 10.0.0.0/8'],
  ['00000000', 'ffffffff', '80 . 0.0.0.0/0'],
  ['0a000001', '0a000001', '80 . 10.0.0.1'],
  ['0a000001', '0a000002', '80 . 10.0.0.1-10.0.0.2'],
  ['0a000000', '0a000002', '80 . 10.0.0.0-10.0.0.2'],
] as const)
  test(`the range ${start} to ${end} is ${text}`, () => {
    const element = [value(1, `00500000 ${start}`), value(10, `00500000 ${end}`)]
    assert.deepEqual(readElements(answer(element), admitted), [{ set: 'admitted', key: text, data: '' }])
  })

test('what has not the form of the set is no element', () => {
  const key = value(1, '0a600001 06000000 00500000 01000500')
  assert.equal(readElements(answer([key]), endpoints), undefined)
  assert.equal(readElements(answer([value(1, '0a600001'), value(2, '0af40001 1f900000')]), endpoints), undefined)
  assert.equal(readElements(answer([value(1, '0a600001 06000000 00500000 01000500 00')]), admitted), undefined)
  const torn = answer([key, value(2, '0af40001 1f900000')])
  torn.writeUInt16LE(2, 8)
  assert.equal(readElements(torn, endpoints), undefined)
  assert.deepEqual(readElements(Buffer.from([2, 0, 0, 0]), endpoints), [])
})

test('keys are printed from their bytes alone', () => {
  assert.equal(decodeKey(endpoints, bytesOf('0a600001 84000000 00500000 01000000')), '10.96.0.1 . sctp . 80 . 0:1')
  assert.equal(decodeKey(endpoints, bytesOf('0a600001')), undefined)
})
