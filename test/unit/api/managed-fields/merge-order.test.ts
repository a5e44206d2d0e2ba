import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeOrder } from '../../../../src/api/managed-fields/merge-order.ts'

/** As kube-apiserver 1.34 orders init containers; test/long/api/apply-peer.test.ts compares both. */
const rows: readonly [live: string, applied: string, merged: string][] = [
  ['abc', 'xby', 'axbcy'],
  ['axbcy', 'qca', 'xbqcya'],
  ['xbqcya', 'z', 'xbqcyaz'],
  ['abc', '', 'abc'],
  ['', 'ab', 'ab'],
  ['abc', 'cba', 'cba'],
  ['aab', 'a', 'ab'],
  ['aab', 'b', 'aab'],
  ['ab', 'nab', 'nab'],
  ['oab', 'nab', 'onab'],
]

for (const [live, applied, expected] of rows) {
  test(`"${applied}" applied to "${live}" gives "${expected}"`, () => {
    const places = mergeOrder([...live], [...applied])
    assert.equal(places.map(({ from, index }) => (from === 'live' ? live : applied)[index]).join(''), expected)
  })
}
