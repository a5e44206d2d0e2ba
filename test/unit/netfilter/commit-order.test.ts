import assert from 'node:assert/strict'
import { test } from 'node:test'
import { orderCommits } from '../../../src/netfilter/commit-order.ts'
import type { Chain, Rule, Ruleset } from '../../../src/netfilter/ruleset.ts'
import { diffRulesets } from '../../helpers/rulesets.ts'
import { cidr } from '../../helpers/services.ts'

const reject = (address: string): Rule => ({
  matches: [{ kind: 'destination', cidr: cidr(`${address}/32`) }],
  target: { kind: 'reject' },
})
const [a, b, c] = [reject('10.96.0.1'), reject('10.96.0.2'), reject('10.96.0.3')]
const accept: Rule = { matches: [], target: { kind: 'accept' } }
const stamp = (text: string): Rule => ({ matches: [], comment: text })

function rulesetOf(nat: Chain, services: Chain, others: Readonly<Record<string, Chain>> = {}): Ruleset {
  return {
    nat: new Map([['PLAT-SERVICES', nat]]),
    filter: new Map([['PLAT-SERVICES', services], ...Object.entries(others)]),
  }
}

function order(before: Ruleset, after: Ruleset): unknown {
  const commits = orderCommits(before, diffRulesets(before, after))
  return commits.map(({ table, set, remove }) => ({
    [table]: Object.fromEntries(set),
    ...(remove.length > 0 && { remove }),
  }))
}

test('a refusal goes only after nat has the way to the new endpoints', () => {
  assert.deepEqual(order(rulesetOf([], [a, b]), rulesetOf([accept], [b])), [
    { nat: { 'PLAT-SERVICES': [accept] } },
    { filter: { 'PLAT-SERVICES': [b] } },
  ])
})

test('a refusal comes before nat loses the way to the last endpoint', () => {
  assert.deepEqual(order(rulesetOf([accept], [b]), rulesetOf([], [a, b])), [
    { filter: { 'PLAT-SERVICES': [a, b] } },
    { nat: { 'PLAT-SERVICES': [] } },
  ])
})

test('one Service losing its endpoints while another gets some makes three commits', () => {
  assert.deepEqual(order(rulesetOf([accept], [a, b]), rulesetOf([], [b, c])), [
    { filter: { 'PLAT-SERVICES': [b, c, a] } },
    { nat: { 'PLAT-SERVICES': [] } },
    { filter: { 'PLAT-SERVICES': [b, c] } },
  ])
})

test('with nothing to change in filter there is only the commit of nat', () => {
  assert.deepEqual(order(rulesetOf([accept], [a]), rulesetOf([], [a])), [{ nat: { 'PLAT-SERVICES': [] } }])
})

test('the stamp stands in the last commit of its table, and makes none of its own beside a commit that is already final', () => {
  const before = rulesetOf([accept], [a], { 'PLAT-STATE': [stamp('old')] })
  const after = rulesetOf([], [b], { 'PLAT-STATE': [stamp('new')] })
  assert.deepEqual(order(before, after), [
    { filter: { 'PLAT-SERVICES': [b, a] } },
    { nat: { 'PLAT-SERVICES': [] } },
    { filter: { 'PLAT-SERVICES': [b], 'PLAT-STATE': [stamp('new')] } },
  ])
  const gaining = rulesetOf([], [a, b], { 'PLAT-STATE': [stamp('new')] })
  assert.deepEqual(order(before, gaining), [
    { filter: { 'PLAT-SERVICES': [a, b], 'PLAT-STATE': [stamp('new')] } },
    { nat: { 'PLAT-SERVICES': [] } },
  ])
})

test('chains without verdicts are written at once, and go only after nothing leads to them', () => {
  const before = rulesetOf([accept], [a, { matches: [], target: { kind: 'jump', chain: 'PLAT-OLD' } }], {
    'PLAT-OLD': [accept],
  })
  const after = rulesetOf([], [a], { 'PLAT-NEW': [accept] })
  assert.deepEqual(order(before, after), [
    { filter: { 'PLAT-NEW': [accept] } },
    { nat: { 'PLAT-SERVICES': [] } },
    { filter: { 'PLAT-SERVICES': [a] }, remove: ['PLAT-OLD'] },
  ])
})

test('the first write of all is filter, then nat', () => {
  const none: Ruleset = { nat: new Map(), filter: new Map() }
  assert.deepEqual(order(none, rulesetOf([accept], [])), [
    { filter: { 'PLAT-SERVICES': [] } },
    { nat: { 'PLAT-SERVICES': [accept] } },
  ])
})
