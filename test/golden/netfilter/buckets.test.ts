import assert from 'node:assert/strict'
import { test } from 'node:test'
import { proxyHooks } from '../../../src/netfilter/hooks.ts'
import type { Chain, ProxyTable, Ruleset } from '../../../src/netfilter/ruleset.ts'
import { readGolden } from '../../helpers/golden.ts'
import { buildRuleset } from '../../helpers/proxy-lab.ts'
import { findInconsistencies } from '../../helpers/rule-consistency.ts'
import { renderRestore } from '../../helpers/rulesets.ts'
import { cidr, ip, makePort, makeService, makeSlice } from '../../helpers/services.ts'

const folder = new URL('./buckets/', import.meta.url)

/** The limits of dispatch.ts brought down to a handful of rules. */
const forms = {
  'two-steps': { buckets: { split: 2, join: 1 }, deepBuckets: { split: 1000, join: 500 } },
  'three-steps': { buckets: { split: 1, join: 0 }, deepBuckets: { split: 2, join: 1 } },
} as const

const places = {
  IPv4: {
    podCidr: '10.244.0.0/16',
    clusterIp: (n: number) => `10.96.${n}.1${n}`,
    vip: (n: number) => `198.51.100.${n}`,
    endpoint: '10.244.1.5',
  },
  IPv6: {
    podCidr: 'fd00:10:244::/56',
    clusterIp: (n: number) => `fd00:10:96::${n}1${n}`,
    vip: (n: number) => `2001:db8:3::${n}`,
    endpoint: 'fd00:10:244::5',
  },
} as const

/** Four Services with a node port and a load balancer's address each, two of them without endpoints. */
function rulesOf(family: 'IPv4' | 'IPv6', form: keyof typeof forms): Ruleset {
  const place = places[family]
  const states = [1, 2, 3, 4].map((n) => {
    const service = makeService(`default/s${n}`, place.clusterIp(n), {
      type: 'LoadBalancer',
      ports: [makePort('main', n === 2 ? 'UDP' : 'TCP', 80, 30_000 + 50 * n)],
      loadBalancerVips: [ip(place.vip(n))],
    })
    const endpoints = n < 3 ? [place.endpoint] : []
    return { service, slices: [makeSlice(service.key, [['main', n === 2 ? 'UDP' : 'TCP', 8080]], endpoints)] }
  })
  const localTraffic = { kind: 'source', cidr: cidr(place.podCidr) } as const
  return buildRuleset(states, { family, localTraffic }, forms[form]).ruleset()
}

/** Of the chains that find a bucket only those that lead to one with rules, and of their gotos only these. */
function onlyUsed(chains: ReadonlyMap<string, Chain>): Map<string, Chain> {
  const filled = [...chains]
    .filter(([name, chain]) => isPlace(name) && !isWay(chain))
    .flatMap(([name, chain]) => (chain.length > 0 ? [name] : []))
  const isUsed = (name: string) => !isPlace(name) || filled.some((bucket) => bucket.startsWith(name))
  return new Map(
    [...chains]
      .filter(([name]) => isUsed(name))
      .map(([name, chain]) => [name, chain.filter(({ target }) => target?.kind !== 'goto' || isUsed(target.chain))]),
  )
}

const isPlace = (name: string): boolean => /^PLAT-X?DST-/.test(name)
const isWay = (chain: Chain): boolean => chain[0]?.target?.kind === 'goto'

for (const family of ['IPv4', 'IPv6'] as const) {
  for (const form of ['two-steps', 'three-steps'] as const) {
    test(`a dispatch with ${form.replace('-', ' ')} is that of the golden file, and sound (${family})`, () => {
      const ruleset = rulesOf(family, form)
      assert.deepEqual(findInconsistencies(ruleset, proxyHooks()), [])
      const tables = (['filter', 'nat'] as const).map((table: ProxyTable) => ({
        table,
        set: onlyUsed(ruleset[table]),
        remove: [],
      }))
      const text = renderRestore(tables, family)
      assert.equal(text, readGolden(folder, `${form}-${family.toLowerCase()}.iptables`, text))
      const bucketCount = [...ruleset.nat.keys()].filter((name) => /^PLAT-DST-[0-9A-F]+$/.test(name)).length
      assert.equal(bucketCount, form === 'two-steps' ? 16 + 256 : 16 + 256 + 4096)
    })
  }
}
