import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseSave } from '../../../src/netfilter/parse.ts'
import type { Ruleset } from '../../../src/netfilter/ruleset.ts'
import { anyRuleset } from '../../helpers/arbitrary-rules.ts'
import { applyChanges, diffRulesets, renderRestore } from '../../helpers/rulesets.ts'

test('the difference of two rulesets applied to the first gives the second', () => {
  fc.assert(
    fc.property(anyRuleset, anyRuleset, (a, b) => {
      assert.deepEqual(sorted(applyChanges(a, diffRulesets(a, b))), sorted(b))
    }),
  )
})

test('a ruleset does not differ from itself, from a copy, nor from what is read back of it', () => {
  fc.assert(
    fc.property(anyRuleset, (ruleset) => {
      assert.deepEqual(diffRulesets(ruleset, ruleset), [])
      assert.deepEqual(diffRulesets(structuredClone(ruleset), ruleset), [])
      const text = renderRestore(
        (['nat', 'filter'] as const).map((table) => ({ table, set: ruleset[table], remove: [] })),
      )
      const { nat, filter } = parseSave(text)
      assert.deepEqual(diffRulesets({ nat: nat.chains, filter: filter.chains }, ruleset), [])
    }),
  )
})

test('only chains that differ are written, and only chains that are gone are removed', () => {
  fc.assert(
    fc.property(anyRuleset, anyRuleset, (a, b) => {
      for (const { table, set, remove } of diffRulesets(a, b)) {
        for (const name of remove) assert.ok(a[table].has(name) && !b[table].has(name))
        for (const [name, chain] of set) {
          const same = { nat: new Map([[name, a[table].get(name) ?? []]]), filter: new Map() }
          assert.ok(
            !a[table].has(name) ||
              diffRulesets(same, { nat: new Map([[name, chain]]), filter: new Map() }).length === 1,
          )
        }
      }
    }),
  )
})

function sorted(ruleset: Ruleset): unknown {
  // An equal rule may be kept in place of the wanted one, so that texts are what must agree.
  return (['nat', 'filter'] as const).map((table) => renderRestore([{ table, set: ruleset[table], remove: [] }]))
}
