import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadElementError } from '../../../../src/netfilter/errors.ts'
import { readElements } from '../../../../src/netfilter/nft/element-messages.ts'
import { encodeChange } from '../../../../src/netfilter/nft/encode-change.ts'
import { renderTable } from '../../../../src/netfilter/nft/render-table.ts'
import type { ElementChange } from '../../../../src/netfilter/nft/types.ts'

const table = renderTable({ family: 'IPv4' }, { drawUpTo: 128, timeouts: [] })
const state = { version: '1', objects: '2', listing: '3' }
const refused = (key: string) => ({ set: 'refuse', key, data: '' })
const change = (more: Partial<ElementChange>): ElementChange => ({ service: undefined, remove: [], add: [], ...more })

test('removals come first, an element of several changes once, and the state last', () => {
  const one = refused('10.96.0.1 . tcp . 80')
  const messages = encodeChange(
    table,
    [change({ add: [one] }), change({ add: [one], remove: [refused('10.96.0.2 . udp . 53')] })],
    state,
  )
  const spec = table.sets.find(({ name }) => name === 'refuse') ?? assert.fail()
  const [removed, added, ...ofState] = messages ?? []
  assert.deepEqual(
    [removed, added].map((message) => readElements(message?.payload ?? Buffer.alloc(0), spec)?.map(({ key }) => key)),
    [['10.96.0.2 . udp . 53'], ['10.96.0.1 . tcp . 80']],
  )
  assert.equal(ofState.length, 2)
})

test('a set with networks, a set that the table lacks, and more than 256 elements are left to the text', () => {
  const network = { set: 'admitted', key: '10.96.0.1 . tcp . 80 . 10.0.0.0/8', data: '' }
  const sticky = { set: 'sticky-60', key: '10.96.0.1 . tcp . 80', data: '' }
  for (const element of [network, sticky])
    assert.equal(encodeChange(table, [change({ add: [element] })], state), undefined)
  const many = Array.from({ length: 257 }, (_, n) => refused(`10.96.${n >> 8}.${n & 255} . tcp . 80`))
  assert.equal(encodeChange(table, [change({ add: many })], state), undefined)
  assert.notEqual(encodeChange(table, [change({ add: many.slice(1) })], state), undefined)
})

test('what is no element of its set is refused', () => {
  assert.throws(() => encodeChange(table, [change({ remove: [refused('10.96.0.1 . tcp')] })], state), BadElementError)
  assert.throws(
    () => encodeChange(table, [change({ add: [refused('10.96.0.1 . tcp . 80 ')] })], state),
    BadElementError,
  )
})

test('a port or an address that is none is left to nft, which says so', () => {
  for (const key of ['10.96.0.1 . tcp . 99999', '10.96.0.999 . tcp . 80'])
    assert.equal(encodeChange(table, [change({ add: [refused(key)] })], state), undefined)
})
