import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { proxyHooks } from '../../../src/netfilter/hooks.ts'
import { lowerService, type ServiceRules } from '../../../src/netfilter/lower-service.ts'
import type { Ruleset } from '../../../src/netfilter/ruleset.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { planFrontends } from '../../../src/node/proxy/plan.ts'
import { anyEvents, anyServiceState, type ServiceState } from '../../helpers/arbitrary-services.ts'
import { findInconsistencies } from '../../helpers/rule-consistency.ts'
import { applyChanges, diffRulesets, renderRestore, TestRuleset } from '../../helpers/rulesets.ts'
import { cidr } from '../../helpers/services.ts'

const settings: ProxyRuleSettings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } }
const empty: Ruleset = { nat: new Map(), filter: new Map() }

test('updates one by one give the same rules as all that is left at once', () => {
  fc.assert(
    fc.property(anyEvents, (events) => {
      const stepwise = new TestRuleset(settings)
      for (const event of events) stepwise.update(new Map([toChange(event)]))
      const left = [...new Map(events.map(toChange))].filter(([, rules]) => rules !== undefined)
      const fresh = new TestRuleset(settings)
      fresh.update(new Map(left))
      if (events.length > 0) assert.equal(textOf(stepwise.ruleset()), textOf(fresh.ruleset()))
    }),
  )
})

test('the Services in any order give the same rules', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(anyServiceState, { selector: ({ service }) => service.key }),
      fc.infiniteStream(fc.nat()),
      (states, dice) => {
        const shuffled = states
          .map((state) => ({ state, at: dice.next().value }))
          .sort((a, b) => a.at - b.at)
          .map(({ state }) => state)
        const [a, b] = [states, shuffled].map((list) => {
          const ruleset = new TestRuleset(settings)
          return renderRestore(ruleset.update(new Map(list.map(toChange))))
        })
        assert.equal(a, b)
      },
    ),
  )
})

test('the changes of each update are exactly the difference between the rules before and after it, which are sound', () => {
  fc.assert(
    fc.property(anyEvents, (events) => {
      const ruleset = new TestRuleset(settings)
      const left = new Map<string, ServiceRules | undefined>()
      let held = empty
      for (const event of events) {
        const [key, rules] = toChange(event)
        left.set(key, rules)
        const changes = ruleset.update(new Map([[key, rules]]))
        const fresh = new TestRuleset(settings)
        fresh.update(left)
        assert.equal(renderRestore(changes), renderRestore(diffRulesets(held, fresh.ruleset())))
        held = applyChanges(held, changes)
        assert.deepEqual(findInconsistencies(held, proxyHooks()), [])
      }
      assert.equal(textOf(held), events.length > 0 ? textOf(ruleset.ruleset()) : textOf(empty))
    }),
  )
})

test('of n endpoints each is reached with probability 1/n', () => {
  fc.assert(
    fc.property(anyServiceState, ({ service, slices }) => {
      for (const frontend of planFrontends(service, slices, { nodeName: 'node-a', family: 'IPv4' })) {
        const { chains } = lowerService([frontend], settings)
        let remaining = 1
        for (const { matches } of [...chains]
          .filter(([name]) => name.startsWith('PLAT-SVC-'))
          .flatMap(([, chain]) => chain)) {
          const statistic = matches.find((match) => match.kind === 'statistic')
          if (statistic === undefined) continue
          const share = remaining * statistic.probability
          assert.ok(Math.abs(share - 1 / frontend.clusterEndpoints.length) < 1e-9)
          remaining -= share
        }
        if (chains.size > 0) assert.ok(Math.abs(remaining) < 1e-9)
      }
    }),
  )
})

function toChange(event: ServiceState | string): readonly [string, ServiceRules | undefined] {
  if (typeof event === 'string') return [event, undefined]
  const frontends = planFrontends(event.service, event.slices, { nodeName: 'node-a', family: 'IPv4' })
  return [event.service.key, lowerService(frontends, settings)]
}

function textOf(ruleset: Ruleset): string {
  return renderRestore(diffRulesets(empty, ruleset))
}
