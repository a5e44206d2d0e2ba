import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeAttribute } from '../../../../src/netfilter/netlink.ts'
import { encodePartList, readTableFlags, readTablePart } from '../../../../src/netfilter/nft/table-messages.ts'

const table = { family: 'IPv4', name: 'platnet' } as const
const head = Buffer.from([2, 0, 0, 7])
const text = (type: number, value: string) => encodeAttribute(type, Buffer.from(`${value}\0`))
const bytes = (type: number, ...values: readonly number[]) => encodeAttribute(type, Buffer.from(values))

test('a list asks for the parts of one table', () => {
  const { type, payload } = encodePartList(table, 'rule')
  assert.equal(type, 0xa07)
  assert.deepEqual(payload, Buffer.concat([Buffer.from([2, 0, 0, 0]), text(1, 'platnet')]))
})

test('a rule is its chain, its expressions and its user data, whatever its number', () => {
  const ruleOf = (handle: number, expression: number) =>
    Buffer.concat([
      head,
      text(1, 'platnet'),
      text(2, 'service'),
      bytes(3, handle),
      bytes(4, 1, expression),
      bytes(7, 9),
    ])
  assert.equal(readTablePart(ruleOf(1, 2), table, 'rule'), '\trule service { 0102 09 }')
  assert.equal(readTablePart(ruleOf(8, 2), table, 'rule'), readTablePart(ruleOf(1, 2), table, 'rule'))
  assert.notEqual(readTablePart(ruleOf(1, 3), table, 'rule'), readTablePart(ruleOf(1, 2), table, 'rule'))
})

test('a chain is its hook, policy, type and flags, whatever leads to it', () => {
  const chainOf = (policy: number, uses: number) =>
    Buffer.concat([
      head,
      text(1, 'platnet'),
      text(3, 'filter-input'),
      bytes(5, policy),
      bytes(6, uses),
      text(7, 'filter'),
    ])
  assert.equal(readTablePart(chainOf(1, 1), table, 'chain'), readTablePart(chainOf(1, 5), table, 'chain'))
  assert.notEqual(readTablePart(chainOf(0, 1), table, 'chain'), readTablePart(chainOf(1, 1), table, 'chain'))
})

test('parts of other tables, and sets that belong to rules, are left out', () => {
  const setOf = (name: string, ...flags: readonly number[]) =>
    Buffer.concat([head, text(1, name), text(2, 'clients'), bytes(3, ...flags)])
  assert.equal(readTablePart(setOf('other', 0, 0, 0, 8), table, 'set'), undefined)
  assert.equal(readTablePart(setOf('platnet', 0, 0, 0, 3), table, 'set'), undefined)
  assert.match(readTablePart(setOf('platnet', 0, 0, 0, 8), table, 'set') ?? '', /^\tset clients \{ 00000008 /)
})

test('a table that sleeps has other flags', () => {
  assert.notEqual(
    readTableFlags(Buffer.concat([head, text(1, 'platnet'), bytes(2, 0, 0, 0, 1)])),
    readTableFlags(Buffer.concat([head, text(1, 'platnet'), bytes(2, 0, 0, 0, 0)])),
  )
})
