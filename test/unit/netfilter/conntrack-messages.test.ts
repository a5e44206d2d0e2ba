import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeConnectionList, readConnection } from '../../../src/netfilter/conntrack-messages.ts'

const bytes = (hex: string) => Buffer.from(hex.replaceAll(/\s/g, ''), 'hex')

/** What the kernel lists of TCP from 10.0.0.1:1001 to 10.96.0.1:80, translated to 10.0.1.1:8080. */
const tcp = {
  head: '02000000',
  original: `34000180 14000180 08000100 0a000001 08000200 0a600001
    1c000280 05000100 06000000 06000200 03e90000 06000300 00500000`,
  reply: `34000280 14000180 08000100 0a000101 08000200 0a000001
    1c000280 05000100 06000000 06000200 1f900000 06000300 03e90000`,
  zone: '06001200 00030000',
  statusAndTimeout: '08000300 00000008 08000700 00000257',
  id: '08000c00 cde15028',
}

/** The same of an echo request from fd00::1 to fd00::2, translated to fd00::3. */
const echo = {
  head: '0a000000',
  original: `54000180 2c000180 14000300 fd000000 00000000 00000000 00000001 14000400 fd000000 00000000 00000000 00000002
    24000280 05000100 3a000000 06000700 00050000 05000800 80000000 05000900 00000000`,
  reply: `54000280 2c000180 14000300 fd000000 00000000 00000000 00000003 14000400 fd000000 00000000 00000000 00000001
    24000280 05000100 3a000000 06000700 00050000 05000800 81000000 05000900 00000000`,
  id: '08000c00 b3275d99',
}

test('all connections of a family are asked for', () => {
  assert.deepEqual(encodeConnectionList('IPv4'), { type: 0x101, payload: bytes('02000000') })
  assert.deepEqual(encodeConnectionList('IPv6'), { type: 0x101, payload: bytes('0a000000') })
})

test('a connection is read with a deletion of its reply, its id and its zone', () => {
  const { head, original, reply, zone, statusAndTimeout, id } = tcp
  assert.deepEqual(readConnection(bytes(head + original + reply + zone + statusAndTimeout + id)), {
    protocol: 6,
    source: '10.0.0.1',
    destination: '10.96.0.1',
    replySource: '10.0.1.1',
    replySourcePort: 8080,
    deletion: { type: 0x102, payload: bytes(head + reply + id + zone) },
  })
})

test('a connection without ports keeps what its protocol has in their place', () => {
  const { head, original, reply, id } = echo
  assert.deepEqual(readConnection(bytes(head + original + reply + id)), {
    protocol: 58,
    source: 'fd00::1',
    destination: 'fd00::2',
    replySource: 'fd00::3',
    replySourcePort: 0,
    deletion: { type: 0x102, payload: bytes(head + reply + id) },
  })
})

test('what lacks a part, or is cut off, is no connection, so that no deletion lacks its tuple or its id', () => {
  const { head, original, reply, id } = tcp
  for (const parts of [[original, reply], [original, id], [reply, id], []])
    assert.equal(readConnection(bytes(head + parts.join(''))), undefined)
  const whole = bytes(head + original + reply + id)
  for (let length = 0; length < whole.length; length += 1)
    assert.equal(readConnection(whole.subarray(0, length)), undefined)
  const withoutPort = reply.replace('06000200 1f900000', '06000a00 1f900000')
  assert.equal(readConnection(bytes(head + original + withoutPort + id)), undefined)
})

test('the memory of a part of the list may be used again', () => {
  const { head, original, reply, id } = tcp
  const part = bytes(head + original + reply + id)
  const connection = readConnection(part)
  part.fill(0xff)
  assert.deepEqual(connection?.deletion.payload, bytes(head + reply + id))
})
