import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findAttribute, type NetlinkMessage } from '../../../../src/netfilter/netlink.ts'
import { encodeElementChange, readElements } from '../../../../src/netfilter/nft/element-messages.ts'
import { type AdditionBatch, encodeAdditions } from '../../../../src/netfilter/nft/encode-additions.ts'
import { renderTable } from '../../../../src/netfilter/nft/render-table.ts'
import type { ElementChange, SetElement } from '../../../../src/netfilter/nft/types.ts'

const table = renderTable({ family: 'IPv4' }, { drawUpTo: 128, timeouts: [] })
const table6 = renderTable({ family: 'IPv6' }, { drawUpTo: 128, timeouts: [] })
const change = (...add: readonly SetElement[]): ElementChange => ({ service: 'default/a', remove: [], add })
const refused = (key: string) => ({ set: 'refuse', key, data: '' })
const nameOf = ({ payload }: NetlinkMessage) =>
  findAttribute(payload.subarray(4), 2)?.toString('latin1').replace('\0', '') ?? ''
const specOf = (set: string) => table.sets.find(({ name }) => name === set) ?? assert.fail(set)
const elementsOf = ({ messages = [] }: AdditionBatch) =>
  messages.flatMap((message) =>
    (readElements(message.payload, specOf(nameOf(message))) ?? []).map(({ set, key, data }) => ({ set, key, data })),
  )

test('a message has the bytes of one that is made of whole attributes, in both families', () => {
  const ipv4 = [
    { set: 'endpoints', key: '10.96.0.1 . tcp . 80 . 0:1', data: '10.244.0.1 . 8080' },
    { set: 'endpoints', key: '10.96.255.1 . sctp . 65535 . 5:ffff', data: '0.0.0.0 . 0' },
  ]
  const ipv6 = [
    { set: 'endpoints', key: 'fd00::1 . udp . 53 . 0:1', data: '2001:db8:1:2:3:4:5:6 . 8080' },
    { set: 'endpoints', key: ':: . tcp . 1 . 1f:1', data: '::1 . 9' },
    { set: 'endpoints', key: 'fd00:: . tcp . 1 . 1f:1', data: '1:2:3:4:5:6:7:8 . 9' },
  ]
  for (const [of, elements] of [[table, ipv4] as const, [table6, ipv6] as const]) {
    const spec = of.sets.find(({ name }) => name === 'endpoints') ?? assert.fail()
    const [batch, ...more] = encodeAdditions(of, [change(...elements)])
    assert.deepEqual(batch?.messages, [encodeElementChange('add', of, spec, elements)])
    assert.deepEqual(more, [])
  }
})

test('transactions hold whole changes, each list fits into its attribute, and every element comes once', () => {
  const changes = Array.from({ length: 1_500 }, (_, n) => {
    const address = `10.96.${n >> 8}.${n & 255} . tcp . 80`
    const endpoint = { set: 'endpoints', key: `${address} . 0:1`, data: '10.244.0.1 . 8080' }
    return change({ set: 'addresses', key: address, data: '1:1' }, endpoint)
  })
  const batches = [...encodeAdditions(table, changes)]
  assert.ok(batches.length > 1)
  for (const batch of batches) {
    assert.deepEqual(
      elementsOf(batch)
        .map(({ key }) => key)
        .sort(),
      batch.changes.flatMap(({ add }) => add.map(({ key }) => key)).sort(),
    )
    for (const { payload } of batch.messages ?? []) assert.ok(payload.length < 65_536)
  }
  assert.deepEqual(
    batches.flatMap((batch) => batch.changes.flatMap(({ add }) => add)),
    changes.flatMap(({ add }) => add),
  )
})

test('what cannot be encoded comes last and leaves nothing of it in a message', () => {
  const sound = refused('10.96.0.1 . tcp . 80')
  const bad: readonly SetElement[] = [
    { set: 'admitted', key: '10.96.0.1 . tcp . 80 . 10.0.0.0/8', data: '' },
    { set: 'sticky-60', key: '10.96.0.1 . tcp . 80', data: '' },
    { set: 'addresses', key: '10.96.0.1 . tcp . 80', data: '' },
    refused('10.96.0.1 . tcp . 65536'),
    refused('10.96.0.256 . tcp . 80'),
    refused('10.96.0 . tcp . 80'),
    refused('10.96.0.1.2 . tcp . 80'),
    refused('10.96.0.1 . tcp'),
    refused('10.96.0.1 . tcp . 80 . 1'),
    refused('10.96.0.1 . tcp . 80 '),
    refused('10.96.0.1 . icmp . 80'),
    refused('10.96.0.1 }; flush ruleset . tcp . 80'),
  ]
  const many = Array.from({ length: 257 }, (_, n) => refused(`10.96.${n >> 8}.${n & 255} . tcp . 80`))
  const failing = [...bad.map((element) => change(refused('10.96.0.9 . tcp . 9'), element)), change(...many)]
  const [batch, rest, ...more] = encodeAdditions(table, [change(sound), ...failing, change(sound)])
  assert.deepEqual(elementsOf(batch ?? assert.fail()), [sound, sound])
  assert.deepEqual(batch?.changes, [change(sound), change(sound)])
  assert.deepEqual([rest, more], [{ messages: undefined, changes: failing }, []])
})

test('addresses of IPv6 are read as strictly', () => {
  for (const key of [
    'fd00:::1',
    'fd00::1::2',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7::8',
    'fd00::10000',
    'fd00::g',
    '::10.0.0.1',
    '',
  ]) {
    const [batch] = encodeAdditions(table6, [change(refused(`${key} . tcp . 80`))])
    assert.equal(batch?.messages, undefined, key)
  }
})
