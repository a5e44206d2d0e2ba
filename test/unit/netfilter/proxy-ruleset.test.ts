import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lowerService, type ServiceRules } from '../../../src/netfilter/lower-service.ts'
import { endpointChain, serviceChain } from '../../../src/netfilter/names.ts'
import { ProxyRuleset } from '../../../src/netfilter/proxy-ruleset.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { planFrontends } from '../../../src/node/proxy/plan.ts'
import { cidr, ip, makeService, makeSlice } from '../../helpers/services.ts'

const settings: ProxyRuleSettings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } }

function webWith(...endpoints: string[]): readonly [string, ServiceRules] {
  const slices = [makeSlice('default/web', [['http', 'TCP', 8080]], endpoints)]
  const frontends = planFrontends(makeService('default/web', '10.96.0.10'), slices, { nodeName: 'a', family: 'IPv4' })
  return ['default/web', lowerService(frontends, settings)]
}

const svc = serviceChain('default/web:http', 'TCP')
const sep = (address: string) => endpointChain('default/web:http', 'TCP', ip(address), 8080)

test('an endpoint more touches only the chains of its Service', () => {
  const ruleset = new ProxyRuleset(settings)
  ruleset.update(new Map([webWith('10.244.0.1')]))
  const [change, ...others] = ruleset.update(new Map([webWith('10.244.0.1', '10.244.0.2')]))
  assert.deepEqual(others, [])
  assert.equal(change?.table, 'nat')
  assert.deepEqual([...(change?.set.keys() ?? [])].sort(), [sep('10.244.0.2'), svc].sort())
  assert.deepEqual(change?.remove, [])
})

test('the last endpoint gone moves the Service from nat to filter', () => {
  const ruleset = new ProxyRuleset(settings)
  ruleset.update(new Map([webWith('10.244.0.1')]))
  const changes = ruleset.update(new Map([webWith()]))
  assert.deepEqual(
    changes.map(({ table, set, remove }) => [table, [...set.keys()], [...remove].sort()]),
    [
      ['filter', ['PLAT-SERVICES'], []],
      ['nat', ['PLAT-SERVICES'], [sep('10.244.0.1'), svc].sort()],
    ],
  )
})

test('the same state again, and a Service that never was, change nothing', () => {
  const ruleset = new ProxyRuleset(settings)
  ruleset.update(new Map([webWith('10.244.0.1')]))
  assert.deepEqual(ruleset.update(new Map([webWith('10.244.0.1')])), [])
  assert.deepEqual(ruleset.update(new Map([['default/none', undefined]])), [])
})

test('the chains that no Service changes stand from the first update on, even without Services', () => {
  const ruleset = new ProxyRuleset(settings)
  const changes = ruleset.update(new Map())
  assert.deepEqual(changes.flatMap(({ table, set }) => [...set.keys()].map((name) => `${table} ${name}`)).sort(), [
    'filter PLAT-EXTERNAL',
    'filter PLAT-FORWARD',
    'filter PLAT-FORWARD-PODS',
    'filter PLAT-INPUT',
    'filter PLAT-INVALID',
    'filter PLAT-NODEPORTS',
    'filter PLAT-SERVICES',
    'nat PLAT-MARK-MASQ',
    'nat PLAT-NODEPORTS',
    'nat PLAT-POSTROUTING',
    'nat PLAT-SERVICES',
  ])
  assert.deepEqual(ruleset.update(new Map()), [])
})
