import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endpointChain } from '../../../src/netfilter/names.ts'
import { removalsAhead } from '../../../src/netfilter/removals-ahead.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { buildRuleset } from '../../helpers/proxy-lab.ts'
import { diffRulesets } from '../../helpers/rulesets.ts'
import { ip, makeService, makeSlice } from '../../helpers/services.ts'

type Settings = ProxyRuleSettings & { readonly isSticky?: boolean }

const settings: ProxyRuleSettings = { family: 'IPv4' }

function rulesOf(endpoints: readonly number[], { affinity, ...rest }: Settings) {
  const service = makeService('default/web', '10.96.0.1', {
    ...(rest.isSticky === true && { affinity: { timeoutSeconds: 60 } }),
  })
  const addresses = endpoints.map((n) => `10.244.0.${n}`)
  const state = { service, slices: [makeSlice(service.key, [['http', 'TCP', 8080]], addresses)] }
  return buildRuleset([state], { ...rest, ...(affinity && { affinity }) }).ruleset()
}

/** The endpoints whose rules go ahead, with the kinds of their matches. */
function aheadOf(before: readonly number[], after: readonly number[], more: Partial<Settings> = {}) {
  const [held, next] = [rulesOf(before, { ...settings, ...more }), rulesOf(after, { ...settings, ...more })]
  const nat = diffRulesets(held, next).find(({ table }) => table === 'nat') ?? assert.fail()
  const drop = removalsAhead(nat, (chain) => held.nat.get(chain))
  return [...drop.values()]
    .flat()
    .map(({ target, matches }) => `${matches[0]?.kind} ${target?.kind === 'jump' && endpointOf(target.chain)}`)
}

function endpointOf(chain: string): number | undefined {
  return [1, 2, 3, 4, 5].find((n) => endpointChain('default/web:http', 'TCP', ip(`10.244.0.${n}`), 8080) === chain)
}

test('what chose an endpoint that is gone goes ahead; whatever comes does not', () => {
  assert.deepEqual(aheadOf([1, 2, 3], [2, 3]), ['statistic 1'])
  assert.deepEqual(aheadOf([1, 2, 3, 4], [2, 4, 5]), ['statistic 1', 'statistic 3'])
  assert.deepEqual(aheadOf([1, 2], [1, 2, 3]), [])
})

test('nothing goes ahead of the last rule, as packets that no rule takes would pass untranslated', () => {
  assert.deepEqual(aheadOf([1, 2, 3], [1, 2]), [])
  assert.deepEqual(aheadOf([1, 2, 3], [2]), [])
  assert.deepEqual(aheadOf([1], []), [])
  assert.deepEqual(aheadOf([1], [2]), [])
})

test('clients that come again are led to it no longer either', () => {
  assert.deepEqual(aheadOf([1, 2], [2], { isSticky: true }), ['recent-check 1', 'statistic 1'])
  assert.deepEqual(aheadOf([1, 2], [2], { isSticky: true, affinity: { form: 'ipset', isHard: false } }), [
    'in-set 1',
    'statistic 1',
  ])
})

test('a chain that others have changed at its end is left to the whole write', () => {
  const [held, next] = [rulesOf([1, 2], settings), rulesOf([2], settings)]
  const nat = diffRulesets(held, next).find(({ table }) => table === 'nat') ?? assert.fail()
  const foreign = { unparsed: '-j LOG' }
  assert.equal(removalsAhead(nat, (chain) => held.nat.get(chain)).size, 1)
  assert.equal(removalsAhead(nat, (chain) => [...(held.nat.get(chain) ?? []), foreign]).size, 0)
  assert.equal(removalsAhead(nat, () => undefined).size, 0)
})
