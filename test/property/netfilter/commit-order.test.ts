import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { orderCommits } from '../../../src/netfilter/commit-order.ts'
import { lowerService } from '../../../src/netfilter/lower-service.ts'
import { renderRuleSpec } from '../../../src/netfilter/render.ts'
import type { Ruleset, TableChange } from '../../../src/netfilter/ruleset.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { planFrontends } from '../../../src/node/proxy/plan.ts'
import { anyServiceState, type ServiceState } from '../../helpers/arbitrary-services.ts'
import { findInconsistencies } from '../../helpers/rule-consistency.ts'
import { applyChanges, diffRulesets, TestRuleset } from '../../helpers/rulesets.ts'
import { cidr } from '../../helpers/services.ts'

const settings: ProxyRuleSettings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } }
const anyCluster = fc.uniqueArray(anyServiceState, { selector: ({ service }) => service.key })

test('after each commit, whatever is served before and after is translated or refused, never passed on untouched', () => {
  fc.assert(
    fc.property(anyCluster, anyCluster, (from, to) => {
      const [before, after] = [buildRules(from), buildRules(to)]
      const always = [...waysIn(before)].filter((way) => waysIn(after).has(way))
      for (const held of statesBetween(before, orderCommits(before, diffRulesets(before, after)))) {
        const ways = waysIn(held)
        for (const way of always) assert.ok(ways.has(way), `${way} passes untouched`)
        assert.deepEqual(findInconsistencies(held, []), [])
      }
    }),
  )
})

test('the commits together are the changes', () => {
  fc.assert(
    fc.property(anyCluster, anyCluster, (from, to) => {
      const [before, after] = [buildRules(from), buildRules(to)]
      const commits = orderCommits(before, diffRulesets(before, after))
      assert.deepEqual(diffRulesets(applyChanges(before, commits), after), [])
      assert.ok(commits.filter((commit) => commit.table === 'nat').length <= 1)
      assert.ok(commits.every((commit) => commit.set.size + commit.remove.length > 0))
    }),
  )
})

function buildRules(states: readonly ServiceState[]): Ruleset {
  const ruleset = new TestRuleset(settings)
  const node = { nodeName: 'node-a', family: 'IPv4' } as const
  ruleset.update(
    new Map(states.map((s) => [s.service.key, lowerService(planFrontends(s.service, s.slices, node), settings)])),
  )
  return ruleset.ruleset()
}

function statesBetween(before: Ruleset, commits: readonly TableChange[]): Ruleset[] {
  let held = before
  return commits.map((commit) => (held = applyChanges(held, [commit])))
}

/** Every match that leads to an endpoint (nat) or to a refusal (filter). */
function waysIn(ruleset: Ruleset): ReadonlySet<string> {
  const rules = (['nat', 'filter'] as const).flatMap((table) =>
    ['PLAT-SERVICES', 'PLAT-NODEPORTS'].flatMap((name) =>
      (ruleset[table].get(name) ?? []).map((rule) => ({ name, rule })),
    ),
  )
  return new Set(rules.map(({ name, rule }) => `${name} ${renderRuleSpec({ matches: rule.matches })}`))
}
