import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AddressSet, parseSets, planSets } from '../../../src/netfilter/sets.ts'

const clients: AddressSet = { family: 'IPv4', timeoutSeconds: 60, maxElements: 65536 }
const noSets = new Map<string, AddressSet>()

test('what ipset saves is read back as it was wanted, whatever else is there', () => {
  const saved = [
    'create PLAT-SEP-A hash:ip family inet hashsize 1024 maxelem 65536 timeout 60 bucketsize 12 initval 0xf5e271e1',
    'add PLAT-SEP-A 10.0.0.1 timeout 59',
    'create PLAT-SEP-B hash:ip family inet6 hashsize 1024 maxelem 10 timeout 7',
    'create PLAT-NETS hash:net family inet hashsize 1024 maxelem 65536',
    'create other hash:ip family inet hashsize 1024 maxelem 65536 timeout 60',
  ]
  assert.deepEqual(
    parseSets(saved.join('\n')),
    new Map([
      ['PLAT-SEP-A', clients],
      ['PLAT-SEP-B', { family: 'IPv6', timeoutSeconds: 7, maxElements: 10 }],
    ]),
  )
})

test('missing sets are made before the rules, those left over go after them, equal ones are left alone', () => {
  const wanted = new Map([
    ['PLAT-SEP-B', clients],
    ['PLAT-SEP-A', clients],
  ])
  const held = new Map([
    ['PLAT-SEP-A', clients],
    ['PLAT-SEP-C', clients],
  ])
  assert.deepEqual(planSets(wanted, held), {
    before: 'create PLAT-SEP-B hash:ip family inet maxelem 65536 timeout 60\n',
    after: 'destroy PLAT-SEP-C\n',
  })
  assert.deepEqual(planSets(held, held), { before: '', after: '' })
})

test('a set whose timeout differs is exchanged without the rules that name it', () => {
  const wanted = new Map([['PLAT-SEP-A', { ...clients, timeoutSeconds: 10 }]])
  assert.equal(
    planSets(wanted, new Map([['PLAT-SEP-A', clients]])).before,
    'create PLAT-SPARE hash:ip family inet maxelem 65536 timeout 10\nswap PLAT-SPARE PLAT-SEP-A\ndestroy PLAT-SPARE\n',
  )
})

test('a name that would be more than a name is refused', () => {
  assert.throws(() => planSets(new Map([['PLAT-A\nflush', clients]]), noSets), /is no name for a set/)
})
