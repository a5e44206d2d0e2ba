import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NetfilterError } from '../../../../src/netfilter/errors.ts'
import { parseStateComment, renderChange, renderStateComment } from '../../../../src/netfilter/nft/render-change.ts'
import type { SetElement } from '../../../../src/netfilter/nft/types.ts'

const table = { family: 'IPv4', name: 'platnet' } as const
const count = { set: 'addresses', key: '10.96.0.1 . tcp . 80', data: '1:2' }
const refused = { set: 'refuse', key: '10.96.0.1 . tcp . 80', data: '' }
const state = { version: '00ff', objects: '1a', listing: '2' }

describe('the commands of a change', () => {
  test('remove before they add, each set once, and end with the state', () => {
    const other = { set: 'refuse', key: '10.96.0.2 . sctp . 9', data: '' }
    const changes = [
      { service: 'default/a', remove: [refused, { ...count, data: '1:1' }], add: [count] },
      { service: 'default/b', remove: [other, refused], add: [] },
    ]
    assert.equal(
      renderChange(table, changes, state),
      [
        'delete element ip platnet refuse { 10.96.0.1 . tcp . 80, 10.96.0.2 . sctp . 9 }',
        'delete element ip platnet addresses { 10.96.0.1 . tcp . 80 }',
        'add element ip platnet addresses { 10.96.0.1 . tcp . 80 : 1:2 }',
        'add element ip platnet state { 1 }',
        'delete element ip platnet state { 1 }',
        'add element ip platnet state { 1 comment "version 00ff objects 1a listing 2" }',
        '',
      ].join('\n'),
    )
  })

  test('never hold a text that is no element of its set', () => {
    const bad: readonly SetElement[] = [
      { ...count, set: 'addresses }; flush ruleset; #' },
      { ...count, set: 'sticky-1 { }' },
      { ...count, key: '10.96.0.1 . tcp . 80 }\nflush ruleset\n' },
      { ...count, key: 'fd00::1 . tcp . 80' },
      { ...count, key: '10.96.0.1 . icmp . 80' },
      { ...count, key: '10.96.0.0/24 . tcp . 80' },
      { ...count, data: '' },
      { ...count, data: '1:2, 10.96.0.9 . tcp . 80 : 0:1' },
      { ...refused, data: '0:1' },
    ]
    for (const element of bad)
      assert.throws(() => renderChange(table, [{ service: undefined, remove: [], add: [element] }]), NetfilterError)
    assert.throws(() => renderChange(table, [], { ...state, objects: '1" }' }), NetfilterError)
  })
})

test('a state is read back as it was written, and nothing else is read as one', () => {
  assert.deepEqual(parseStateComment(renderStateComment(state)), state)
  assert.equal(parseStateComment('version 1 objects 2'), undefined)
})
