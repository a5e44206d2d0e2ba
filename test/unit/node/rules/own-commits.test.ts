import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OwnCommits } from '../../../../src/node/rules/own-commits.ts'

const written = [{ table: 'nat', set: new Map([['PLAT-SVC-A', []]]), remove: ['PLAT-SEP-B'] }] as const
const chainA = [{ table: 'nat', chain: 'PLAT-SVC-A' }]
const program = 'iptables-nft-re'

test('a commit is ours by the pid of a restore', () => {
  const own = new OwnCommits()
  own.add(7, written)
  assert.equal(own.includes({ pid: 7, program, changes: [{ table: 'nat', chain: 'PLAT-ELSE' }] }), true)
  assert.equal(own.includes({ pid: 8, program, changes: chainA }), false, 'pids are known to be comparable now')
})

test('where pids never agree, it is ours if a restore changed only chains that we just wrote', () => {
  const own = new OwnCommits()
  own.add(7, written)
  assert.equal(own.includes({ pid: 4007, program, changes: chainA }), true)
  assert.equal(own.includes({ pid: 4008, program: 'iptables', changes: chainA }), false)
  assert.equal(own.includes({ pid: 4008, program, changes: [...chainA, { table: 'nat', chain: 'PLAT-C' }] }), false)
  assert.equal(own.includes({ pid: 4008, program, changes: [{ table: 'nat' }] }), false)
})

test('the first restore into a table also makes the table and its built-in chains', () => {
  const own = new OwnCommits()
  own.add(7, written)
  const made = [{ table: 'nat' }, { table: 'nat', chain: 'PREROUTING' }]
  assert.equal(own.includes({ pid: 4007, program, changes: [...made, ...chainA] }), true)
  assert.equal(own.includes({ pid: 4008, program, changes: made }), false, 'nothing of it was ours to write')
  assert.equal(own.includes({ pid: 4008, program, changes: [{ table: 'nat', chain: 'PREROUTING' }, ...chainA] }), false)
})

test('the name of a program is cut by the kernel to 15 characters', () => {
  const own = new OwnCommits()
  own.add(7, written)
  assert.equal(own.includes({ pid: 4007, program: 'ip6tables-nft-r', changes: chainA }), true)
})
