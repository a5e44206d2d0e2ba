import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NetfilterError } from '../../../../src/netfilter/errors.ts'
import { renderTable } from '../../../../src/netfilter/nft/render-table.ts'
import type { ProxyRuleSettings } from '../../../../src/netfilter/settings.ts'

const shape = { drawUpTo: 2, timeouts: [] }

function fromInterface(name: string, isPrefix: boolean): ProxyRuleSettings {
  return { family: 'IPv4', localTraffic: { kind: 'interface', name, isPrefix } }
}

test('a prefix of interfaces has a wildcard, unless it is as long as any name', () => {
  assert.match(renderTable(fromInterface('cni', true), shape).text, /iifname "cni\*"/)
  assert.match(renderTable(fromInterface('abcdefghijklmno', true), shape).text, /iifname "abcdefghijklmno"/)
})

test('a name that is none of an interface becomes no text', () => {
  for (const name of ['a"; flush ruleset', 'a b', '', 'abcdefghijklmnop', 'a*'])
    assert.throws(() => renderTable(fromInterface(name, false), shape), NetfilterError, name)
})

test('the version tells rules apart by family, settings and shape', () => {
  const tables = [
    renderTable({ family: 'IPv4' }, shape),
    renderTable({ family: 'IPv6' }, shape),
    renderTable({ family: 'IPv4', randomFully: false }, shape),
    renderTable({ family: 'IPv4' }, { ...shape, drawUpTo: 4 }),
    renderTable({ family: 'IPv4' }, { ...shape, timeouts: [60] }),
  ]
  assert.equal(new Set(tables.map(({ version }) => version)).size, tables.length)
  assert.equal(renderTable({ family: 'IPv4' }, shape).version, tables[0]?.version)
})
