import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proxyHooks } from '../../../../src/netfilter/hooks.ts'
import { parseSave } from '../../../../src/netfilter/parse.ts'
import { renderRule } from '../../../../src/netfilter/render.ts'
import { planHooks } from '../../../../src/node/rules/hook-plan.ts'

const output = proxyHooks().filter((hook) => hook.table === 'filter' && hook.builtin === 'OUTPUT')
const [first = '', second = ''] = output.map((hook) => renderRule(hook.builtin, hook.rule))

function plan(...lines: readonly string[]): string {
  const saved = parseSave(lines.join('\n'), 'filter')
  return planHooks(output, { nat: [], filter: saved.filter.hooks }, 'IPv4').text
}

const insert = (line: string, position: number) => line.replace('-A OUTPUT', `-I OUTPUT ${position}`)
const remove = (line: string) => line.replace('-A', '-D')
const commit = (...lines: readonly string[]) => `*filter\n${lines.join('\n')}\nCOMMIT\n`

test('hooks in their place ask for nothing, also with foreign rules after them', () => {
  assert.equal(plan(first, second, '-A OUTPUT -s 192.0.2.1/32 -j DROP'), '')
})

test('missing hooks are put at the top, in order', () => {
  assert.equal(plan('-A OUTPUT -j DROP'), commit(insert(first, 1), insert(second, 2)))
})

test('hooks out of order, twice, or behind a foreign rule are taken out by what they say and put back', () => {
  const both = [insert(first, 1), insert(second, 2)]
  assert.equal(plan(second, first), commit(remove(second), remove(first), ...both))
  assert.equal(plan(first, second, second), commit(remove(first), remove(second), remove(second), ...both))
  assert.equal(plan('-A OUTPUT -j ACCEPT', first, second), commit(remove(first), remove(second), ...both))
})

test('a jump of ours that is no longer wanted goes, in the words the kernel has for it', () => {
  const old = '-A INPUT -m ttl --ttl-eq 7 -j PLAT-OLD'
  assert.equal(plan(first, second, old), commit(remove(old)))
})
