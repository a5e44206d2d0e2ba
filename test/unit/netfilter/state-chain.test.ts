import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addHash, emptyXorHash, hashItem } from '../../../src/model/xor-hash.ts'
import { parseRuleSpec } from '../../../src/netfilter/parse.ts'
import { renderRuleSpec } from '../../../src/netfilter/render.ts'
import type { Chain } from '../../../src/netfilter/ruleset.ts'
import {
  hashChain,
  parseStamp,
  renderStamp,
  type Stamp,
  stampsMatch,
  stateChain,
} from '../../../src/netfilter/state-chain.ts'
import { hashTable } from '../../helpers/rulesets.ts'

const stamp: Stamp = {
  version: 2,
  objects: addHash(emptyXorHash, hashItem('services/default/web', '{}')),
  rules: { value: 0x1n, count: 7 },
}
const drop: Chain = [{ matches: [], target: { kind: 'drop' } }]

test('a stamp comes back from the rules that carry it, also through their text', () => {
  assert.deepEqual(parseStamp(renderStamp(stamp)), stamp)
  const readBack = renderStamp(stamp).map((rule) => parseRuleSpec(renderRuleSpec(rule)) ?? { matches: [] })
  assert.deepEqual(parseStamp(readBack), stamp)
})

test('nat may tell of filter, and only both together vouch for the objects', () => {
  const nat = { ...stamp, filter: { value: 0x2n, count: 3 } }
  const filter = { ...stamp, rules: nat.filter }
  assert.deepEqual(parseStamp(renderStamp(nat)), nat)
  assert.equal(parseStamp([...renderStamp(stamp), { matches: [], comment: 'filter 1/2' }]), undefined)
  const { objects } = stamp
  assert.equal(stampsMatch(objects, { nat, filter }), true)
  assert.equal(stampsMatch(emptyXorHash, { nat, filter }), false)
  for (const stamps of [
    { nat: stamp, filter },
    { nat, filter: stamp },
    { nat, filter: undefined },
  ])
    assert.equal(stampsMatch(objects, stamps), false)
})

test('anything but a whole stamp of this version is none', () => {
  const [version, objects, rules] = renderStamp(stamp)
  assert.ok(version && objects && rules)
  const notStamps: readonly Chain[] = [
    [],
    [version, objects],
    [objects, version, rules],
    [version, objects, rules, rules],
    [{ matches: [], comment: 'version 1' }, objects, rules],
    [version, { matches: [], comment: 'objects 123/1' }, rules],
    [version, { matches: [], comment: `${objects.comment} more` }, rules],
    [version, { matches: [] }, rules],
  ]
  for (const chain of notStamps) assert.equal(parseStamp(chain), undefined)
})

test('the hash of a table knows names and rules, and leaves the stamp out', () => {
  const table = new Map([['PLAT-A', drop]])
  assert.deepEqual(hashTable(table), { value: hashChain('PLAT-A', drop), count: 1 })
  assert.deepEqual(hashTable(new Map([...table, [stateChain, renderStamp(stamp)]])), hashTable(table))
  assert.notEqual(hashChain('PLAT-A', drop), hashChain('PLAT-B', drop))
  assert.notEqual(hashChain('PLAT-A', drop), hashChain('PLAT-A', [...drop, ...drop]))
})
