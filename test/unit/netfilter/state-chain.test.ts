import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addHash, emptyXorHash, hashItem } from '../../../src/model/xor-hash.ts'
import { parseRuleSpec } from '../../../src/netfilter/parse.ts'
import { renderRuleSpec } from '../../../src/netfilter/render.ts'
import type { Chain } from '../../../src/netfilter/ruleset.ts'
import {
  hashChain,
  hashTable,
  parseStamp,
  renderStamp,
  type Stamp,
  stateChain,
} from '../../../src/netfilter/state-chain.ts'

const stamp: Stamp = {
  version: 1,
  objects: addHash(emptyXorHash, hashItem('services/default/web', '{}')),
  rules: { value: 0x1n, count: 7 },
}
const drop: Chain = [{ matches: [], target: { kind: 'drop' } }]

test('a stamp comes back from the rules that carry it, also through their text', () => {
  assert.deepEqual(parseStamp(renderStamp(stamp)), stamp)
  const readBack = renderStamp(stamp).map((rule) => parseRuleSpec(renderRuleSpec(rule)) ?? { matches: [] })
  assert.deepEqual(parseStamp(readBack), stamp)
})

test('anything but a whole stamp of this version is none', () => {
  const [version, objects, rules] = renderStamp(stamp)
  assert.ok(version && objects && rules)
  const notStamps: readonly Chain[] = [
    [],
    [version, objects],
    [objects, version, rules],
    [version, objects, rules, rules],
    [{ matches: [], comment: 'version 2' }, objects, rules],
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
