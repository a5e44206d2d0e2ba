import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { removalsAhead } from '../../../src/netfilter/removals-ahead.ts'
import type { Chain, Ruleset } from '../../../src/netfilter/ruleset.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { anyServiceState, type ServiceState } from '../../helpers/arbitrary-services.ts'
import { buildRuleset } from '../../helpers/proxy-lab.ts'
import { applyChanges, diffRulesets } from '../../helpers/rulesets.ts'
import { cidr } from '../../helpers/services.ts'

const settings: ProxyRuleSettings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } }

/** Before and after, some Services having lost endpoints. */
const anyLoss = fc
  .uniqueArray(anyServiceState, { selector: ({ service }) => service.key })
  .chain((states) => fc.record({ before: fc.constant(states), after: fc.tuple(...states.map(loseSome)) }))

function loseSome({ service, slices }: ServiceState): fc.Arbitrary<ServiceState> {
  return fc.tuple(...slices.map(({ endpoints }) => fc.subarray([...endpoints]))).map((kept) => ({
    service,
    slices: slices.map((slice, index) => ({ ...slice, endpoints: kept[index] ?? [] })),
  }))
}

test('without the rules that go ahead every packet still finds an endpoint that stays, and the write that follows is the same', () => {
  let removed = 0
  fc.assert(
    fc.property(anyLoss, ({ before, after }) => {
      const held = buildRuleset(before, settings).ruleset()
      const next = buildRuleset(after, settings).ruleset()
      const changes = diffRulesets(held, next)
      const nat = changes.find(({ table }) => table === 'nat')
      const drop = nat ? removalsAhead(nat, (chain) => held.nat.get(chain)) : new Map<string, Chain>()
      const between = applyChanges(held, [{ table: 'nat', set: new Map(), remove: [], drop }])
      for (const chain of drop.keys()) checkChoices(chain, held, between, next)
      assert.deepEqual(diffRulesets(applyChanges(between, changes), next), [])
      removed += drop.size
    }),
  )
  assert.ok(removed > 10, `only ${removed} chains lost a rule ahead`)
})

/** Its last rule takes whatever is left; only what leads to endpoints that are gone has gone, and all of it. */
function checkChoices(chain: string, held: Ruleset, between: Ruleset, next: Ruleset): void {
  const [rules = [], left = [], kept = []] = [held, between, next].map(({ nat }) => nat.get(chain))
  assert.deepEqual(left.at(-1), rules.at(-1))
  assert.deepEqual(left.at(-1)?.matches, [{ kind: 'statistic', probability: 1 }])
  const stays = new Set(kept.map(jumpOf))
  assert.deepEqual(
    left,
    rules.filter((rule) => stays.has(jumpOf(rule)) || !jumpOf(rule).startsWith('PLAT-SEP-')),
  )
}

function jumpOf({ target }: Chain[number]): string {
  return target?.kind === 'jump' ? target.chain : ''
}
