import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SavedChain } from '../../../../src/netfilter/parse.ts'
import type { Chain, TableChange } from '../../../../src/netfilter/ruleset.ts'
import { planRestores, splitChange } from '../../../../src/node/rules/batches.ts'

function jumps(...targets: readonly string[]): Chain {
  return targets.map((chain) => ({ matches: [], target: { kind: 'jump', chain } }))
}

function namesOf(change: TableChange): string[] {
  return [...change.set.keys(), ...change.remove.map((name) => `-${name}`)]
}

const nothing = () => undefined

test('a small change stays one restore', () => {
  const change: TableChange = { table: 'nat', set: new Map([['PLAT-A', []]]), remove: ['PLAT-B'] }
  assert.deepEqual(splitChange(change, nothing, 2), { before: [], middle: [], main: change, after: [] })
})

test('new chains go ahead, each after those it jumps to; what packets meet already and the stamp go last', () => {
  const set = new Map([
    ['PLAT-SERVICES', jumps('PLAT-SVC')],
    ['PLAT-SVC', jumps('PLAT-SEP1', 'PLAT-SEP2')],
    ['PLAT-SEP1', jumps('PLAT-MARK')],
    ['PLAT-SEP2', jumps('PLAT-MARK')],
    ['PLAT-STATE', jumps()],
  ])
  const held = (name: string) => (name === 'PLAT-SERVICES' ? [] : undefined)
  const { before, main, after } = splitChange({ table: 'nat', set, remove: [] }, held, 4)
  assert.deepEqual(before.map(namesOf), [
    ['PLAT-STATE', 'PLAT-SEP1', 'PLAT-SEP2'],
    ['PLAT-STATE', 'PLAT-SVC'],
  ])
  assert.deepEqual(before[0]?.set.get('PLAT-STATE'), [], 'no stamp vouches for a table that is being filled')
  assert.deepEqual(namesOf(main), ['PLAT-SERVICES', 'PLAT-STATE'])
  assert.deepEqual(after, [])
})

test('chains that are no longer wanted go afterwards, each before those it jumps to, whatever rules they hold', () => {
  const held = new Map<string, SavedChain>([
    ['PLAT-SEP', []],
    ['PLAT-SVC', [{ unparsed: '-m strange -j PLAT-SEP' }]],
    ['PLAT-EXT', jumps('PLAT-SVC')],
  ])
  const change: TableChange = { table: 'nat', set: new Map(), remove: [...held.keys()] }
  const { before, main, after } = splitChange(change, (name) => held.get(name), 1)
  assert.deepEqual([before, namesOf(main)], [[], []])
  assert.deepEqual(after.map(namesOf), [['-PLAT-EXT'], ['-PLAT-SVC'], ['-PLAT-SEP']])
})

test('a long chain counts as many as it has rules', () => {
  const set = new Map([
    ['PLAT-A', jumps('PLAT-MARK', 'PLAT-MARK', 'PLAT-MARK', 'PLAT-MARK')],
    ['PLAT-B', jumps('PLAT-MARK')],
    ['PLAT-C', jumps('PLAT-MARK')],
  ])
  const { before } = splitChange({ table: 'nat', set, remove: [] }, nothing, 4)
  assert.deepEqual(before.map(namesOf), [['PLAT-A'], ['PLAT-B', 'PLAT-C']])
})

test('a restore carries several commits, in their order', () => {
  const commits = ['PLAT-A', 'PLAT-B', 'PLAT-C'].map(
    (name): TableChange => ({ table: 'nat', set: new Map([[name, []]]), remove: [] }),
  )
  const main: TableChange = { table: 'nat', set: new Map(), remove: [] }
  const split = { before: commits, middle: [], main, after: commits.slice(0, 1) }
  assert.deepEqual(planRestores([split], [main], 2), [
    commits.slice(0, 2),
    commits.slice(2),
    [main],
    commits.slice(0, 1),
  ])
})

test('many chains of Services that change are cut between the commits in which filter gains and loses its verdicts', () => {
  const held = new Map([
    ['PLAT-SERVICES', jumps('PLAT-SVC-A')],
    ['PLAT-SVC-A', jumps('PLAT-SEP-1')],
    ['PLAT-SVC-B', jumps('PLAT-SEP-1')],
    ['PLAT-SEP-1', jumps('PLAT-MARK')],
  ])
  const set = new Map([
    ['PLAT-SVC-A', jumps('PLAT-SEP-2', 'PLAT-SEP-2')],
    ['PLAT-SVC-B', jumps('PLAT-SEP-2', 'PLAT-SEP-2')],
    ['PLAT-SERVICES', jumps('PLAT-SVC-A', 'PLAT-SVC-B')],
    ['PLAT-SEP-2', []],
    ['PLAT-STATE', jumps()],
  ])
  const split = splitChange({ table: 'nat', set, remove: ['PLAT-SEP-1'] }, (name) => held.get(name), 4)
  assert.deepEqual(split.before.map(namesOf), [['PLAT-STATE', 'PLAT-SEP-2']], 'what these lead to stands before them')
  assert.deepEqual(split.middle.map(namesOf), [
    ['PLAT-STATE', 'PLAT-SVC-A'],
    ['PLAT-STATE', 'PLAT-SVC-B'],
  ])
  assert.deepEqual(namesOf(split.main), ['PLAT-SERVICES', 'PLAT-STATE'])
  assert.deepEqual(split.after.map(namesOf), [['-PLAT-SEP-1']], 'nothing goes before all that leads to it has changed')
  const filter: TableChange = { table: 'filter', set: new Map([['PLAT-SERVICES', []]]), remove: [] }
  const restores = planRestores([split], [filter, split.main, filter], 16)
  assert.deepEqual(restores, [split.before, [filter], split.middle, [split.main, filter], split.after])
})
