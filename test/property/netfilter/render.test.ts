import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { equalRules, parseRuleSpec, parseSave } from '../../../src/netfilter/parse.ts'
import { renderRule, renderRuleSpec } from '../../../src/netfilter/render.ts'
import { anyRule, anyRuleset, hostileText } from '../../helpers/arbitrary-rules.ts'
import { renderRestore } from '../../helpers/rulesets.ts'

test('every rule that is rendered parses back to an equal rule', () => {
  fc.assert(
    fc.property(anyRule, (rule) => {
      const parsed = parseRuleSpec(renderRuleSpec(rule))
      assert.ok(parsed !== undefined && equalRules(parsed, rule), renderRuleSpec(rule))
    }),
  )
})

test('two rules are equal exactly when their texts are', () => {
  fc.assert(
    fc.property(anyRule, anyRule, (a, b) => {
      assert.equal(equalRules(a, b), renderRuleSpec(a) === renderRuleSpec(b))
      assert.ok(
        !equalRules(a, { ...a, matches: [...a.matches, { kind: 'mark', value: 0x80000000, mask: 0x80000000 }] }),
      )
    }),
  )
})

test('no comment leaves its quotes, its line or its 255 bytes', () => {
  fc.assert(
    fc.property(hostileText, (comment) => {
      const line = renderRule('PLAT-A', { matches: [], target: { kind: 'drop' }, comment })
      assert.match(
        line,
        /^-A PLAT-A -m comment --comment ([A-Za-z0-9_-]+|"([\x20\x21\x23-\x26\x28-\x5b\x5d-\x7e]|\\["'\\])*") -j DROP$/,
      )
      const kept = parseRuleSpec(line.slice('-A PLAT-A '.length))?.comment ?? ''
      assert.equal(kept, comment.replace(/[^\x20-\x7e]/g, '?').slice(0, 255))
    }),
    { numRuns: 500 },
  )
})

test('a name that is not one of a chain is refused wherever it stands', () => {
  const isName = /^[A-Z][A-Z0-9-]{0,27}$/
  fc.assert(
    fc.property(
      hostileText.filter((text) => !isName.test(text)),
      (name) => {
        const refused = { code: 'bad-chain-name' }
        assert.throws(() => renderRule(name, { matches: [] }), refused)
        assert.throws(() => renderRuleSpec({ matches: [], target: { kind: 'jump', chain: name } }), refused)
        assert.throws(() => renderRuleSpec({ matches: [{ kind: 'recent-set', list: name }] }), refused)
        assert.throws(() => renderRestore([{ table: 'nat', set: new Map(), remove: [name] }]), refused)
      },
    ),
  )
})

test('a whole ruleset reads back as the same text', () => {
  fc.assert(
    fc.property(anyRuleset, (ruleset) => {
      const text = renderRestore([{ table: 'nat', set: ruleset.nat, remove: [] }])
      const { chains } = parseSave(text).nat
      assert.deepEqual([...chains.keys()].sort(), [...ruleset.nat.keys()].sort())
      for (const [name, chain] of ruleset.nat) {
        const readBack = chains.get(name) ?? []
        assert.equal(readBack.length, chain.length)
        for (const [index, rule] of chain.entries()) assert.ok(equalRules(readBack[index] ?? { unparsed: '' }, rule))
      }
    }),
  )
})

test('the order in which chains were put into a change never shows in the text', () => {
  fc.assert(
    fc.property(anyRuleset, (ruleset) => {
      const reversed = new Map([...ruleset.nat].reverse())
      const remove = ['PLAT-X', 'PLAT-Y']
      assert.equal(
        renderRestore([{ table: 'nat', set: reversed, remove: remove.toReversed() }]),
        renderRestore([{ table: 'nat', set: ruleset.nat, remove }]),
      )
    }),
  )
})
