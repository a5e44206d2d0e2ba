import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { bucketLimits, deepBucketLimits } from '../../../src/netfilter/dispatch.ts'
import { proxyHooks } from '../../../src/netfilter/hooks.ts'
import { lowerService, type ServiceRules } from '../../../src/netfilter/lower-service.ts'
import type { Ruleset, TableChange } from '../../../src/netfilter/ruleset.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import type { TraceContext } from '../../../src/netfilter/trace/types.ts'
import { planFrontends } from '../../../src/node/proxy/plan.ts'
import { describeTrace, firstPacket, rulesWorldOf } from '../../helpers/proxy-lab.ts'
import { findInconsistencies } from '../../helpers/rule-consistency.ts'
import { applyChanges, diffRulesets, renderRestore, TestRuleset } from '../../helpers/rulesets.ts'
import { cidr, ip, makePort, makeService, makeSlice } from '../../helpers/services.ts'

const settings: ProxyRuleSettings = { family: 'IPv4', localTraffic: { kind: 'source', cidr: cidr('10.244.0.0/16') } }
const settingsV6: ProxyRuleSettings = { family: 'IPv6', localTraffic: { kind: 'source', cidr: cidr('fd00:244::/48') } }
const empty: Ruleset = { nat: new Map(), filter: new Map() }

interface Shape {
  readonly endpoints?: number
  readonly nodePort?: number
  readonly vip?: string
  readonly settings?: ProxyRuleSettings
}

function keyOf(n: number): string {
  return `default/s${String(n).padStart(5, '0')}`
}

/** Service number n, with cluster IP 10.96.x.y (or fd00:96::n) and one endpoint. */
function rulesOf(
  n: number,
  { endpoints = 1, nodePort, vip, settings: chosen = settings }: Shape = {},
): [string, ServiceRules] {
  const isIpv4 = chosen.family === 'IPv4'
  const service = makeService(keyOf(n), isIpv4 ? `10.96.${n >> 8}.${n & 255}` : `fd00:96::${n.toString(16)}`, {
    type: 'LoadBalancer',
    ports: [makePort('http', 'TCP', 80, nodePort)],
    ...(vip !== undefined && { loadBalancerVips: [ip(vip)] }),
  })
  const addresses = Array.from({ length: endpoints }, (_, index) =>
    isIpv4 ? `10.244.${index}.${(n % 254) + 1}` : `fd00:244:0:${index}::${n.toString(16)}`,
  )
  const slices = [makeSlice(service.key, [['http', 'TCP', 8080]], addresses)]
  const node = { nodeName: 'node-a', family: chosen.family }
  return [service.key, lowerService(planFrontends(service, slices, node), chosen)]
}

function many(count: number, shape: Shape = {}): Map<string, ServiceRules> {
  return new Map(Array.from({ length: count }, (_, n) => rulesOf(n, shape)))
}

function chainsOf(changes: readonly TableChange[]): string[] {
  return changes.flatMap(({ table, set, remove }) => [
    ...[...set.keys()].map((name) => `${table} ${name}`),
    ...remove.map((name) => `${table} -${name}`),
  ])
}

/** The tables of these Services, made at once. */
function tablesOf(services: ReadonlyMap<string, ServiceRules | undefined>): Ruleset {
  const fresh = new TestRuleset(settings)
  fresh.update(services)
  return fresh.ruleset()
}

const shared = (changes: readonly TableChange[]) => chainsOf(changes).filter((name) => !/-(SVC|SEP|EXT)-/.test(name))

describe('a shared chain', () => {
  test('is flat up to its limit, in buckets above it, and flat again only below the lower one', () => {
    const ruleset = new TestRuleset(settings)
    ruleset.update(many(bucketLimits.split))
    assert.equal(ruleset.ruleset().nat.get('PLAT-SERVICES')?.length, bucketLimits.split + 1)
    const split = ruleset.update(new Map([rulesOf(bucketLimits.split)]))
    assert.equal(shared(split).length, 1 + 1 + 16 + 256)
    assert.equal(ruleset.ruleset().nat.get('PLAT-SERVICES')?.length, 2)
    for (let n = bucketLimits.split; n > bucketLimits.join; n--) {
      assert.equal(shared(ruleset.update(new Map([[rulesOf(n)[0], undefined]]))).length, 1)
    }
    const joined = ruleset.update(new Map([[rulesOf(bucketLimits.join)[0], undefined]]))
    assert.equal(shared(joined).length, 1 + 1 + 16 + 256)
    assert.equal(ruleset.ruleset().nat.get('PLAT-SERVICES')?.length, bucketLimits.join + 1)
    assert.deepEqual(
      [...ruleset.ruleset().nat.keys()].filter((name) => name.startsWith('PLAT-DST')),
      [],
    )
  })

  test('of very many rules has a third step to its buckets, and loses it only below the lower limit', () => {
    const ruleset = new TestRuleset(settings)
    const refused = (first: number, end: number, isThere = true) =>
      new Map(
        Array.from({ length: end - first }, (_, index) => {
          const key = keyOf(first + index)
          return [key, isThere ? rulesOf(first + index, { endpoints: 0 })[1] : undefined] as const
        }),
      )
    let held = applyChanges(empty, ruleset.update(refused(0, deepBucketLimits.split)))
    assert.equal(ruleset.ruleset().filter.get('PLAT-DST-0A')?.length, 64)
    const grown = ruleset.update(refused(deepBucketLimits.split, deepBucketLimits.split + 1))
    assert.equal(shared(grown).length, 256 + 4096)
    assert.equal(
      renderRestore(grown),
      renderRestore(diffRulesets(held, tablesOf(refused(0, deepBucketLimits.split + 1)))),
    )
    held = applyChanges(held, grown)
    assert.deepEqual(findInconsistencies(held, proxyHooks()), [])
    assert.equal(shared(ruleset.update(refused(deepBucketLimits.split, deepBucketLimits.split + 1, false))).length, 1)
    ruleset.update(refused(deepBucketLimits.join + 1, deepBucketLimits.split, false))
    assert.ok(ruleset.ruleset().filter.has('PLAT-DST-0AF'))
    held = applyChanges(empty, diffRulesets(empty, ruleset.ruleset()))
    const shrunk = ruleset.update(refused(deepBucketLimits.join, deepBucketLimits.join + 1, false))
    assert.equal(renderRestore(shrunk), renderRestore(diffRulesets(held, tablesOf(refused(0, deepBucketLimits.join)))))
    assert.equal(ruleset.ruleset().filter.get('PLAT-DST-0A')?.length, 32)
    assert.ok(!ruleset.ruleset().filter.has('PLAT-DST-0AF'))
  })

  test('of one table or kind is split by itself', () => {
    const ruleset = new TestRuleset(settings)
    ruleset.update(many(bucketLimits.split + 1, { endpoints: 0 }))
    assert.ok(ruleset.ruleset().filter.has('PLAT-DST-00'))
    assert.ok(!ruleset.ruleset().nat.has('PLAT-DST-00'))
    assert.ok(!ruleset.ruleset().filter.has('PLAT-XDST-00'))
  })

  test('of more than the limit is the same whatever came first', () => {
    const [a, b] = [new TestRuleset(settings), new TestRuleset(settings)]
    const rules = [...many(400, { vip: '198.51.100.1' })]
    a.update(new Map(rules))
    for (const entry of rules.toReversed()) b.update(new Map([entry]))
    assert.deepEqual(diffRulesets(a.ruleset(), b.ruleset()), [])
    assert.deepEqual(findInconsistencies(a.ruleset(), proxyHooks()), [])
  })
})

describe('a change', () => {
  const figures = [1_000, 30_000].map((count) => {
    const ruleset = new TestRuleset(settings)
    ruleset.update(many(count))
    const added = ruleset.update(new Map([rulesOf(count, { vip: '198.51.100.77' })]))
    const endpoint = ruleset.update(new Map([rulesOf(7, { endpoints: 2 })]))
    const lost = ruleset.update(new Map([rulesOf(8, { endpoints: 0 })]))
    const removed = ruleset.update(new Map([[rulesOf(9)[0], undefined]]))
    return { count, added, endpoint, lost, removed, nothing: ruleset.update(new Map([rulesOf(10)])) }
  })

  for (const { count, added, endpoint, lost, removed, nothing } of figures) {
    test(`touches the buckets of its Service's addresses only (of ${count})`, () => {
      const bucket = (thirdByte: number, lastByte: number) => {
        const digits = [lastByte >> 4, lastByte & 15, ...(count > deepBucketLimits.split ? [thirdByte & 15] : [])]
        return `nat PLAT-DST-${digits.map((digit) => digit.toString(16).toUpperCase()).join('')}`
      }
      assert.deepEqual(shared(added).sort(), [bucket(count >> 8, count & 255), bucket(100, 77)].sort())
      assert.deepEqual(shared(endpoint), [])
      assert.deepEqual(shared(lost).sort(), ['filter PLAT-SERVICES', bucket(0, 8)])
      assert.deepEqual(shared(removed), [bucket(0, 9)])
      assert.deepEqual(nothing, [])
    })
  }

  test('of an endpoint writes the same bytes whatever the number of Services', () => {
    const [small, large] = figures.map(({ endpoint }) => renderRestore(endpoint).length)
    assert.equal(small, large)
  })

  test('of an address writes one bucket: a 256th of the rules', () => {
    for (const { count, removed } of figures) {
      const bytes = renderRestore(removed).length
      assert.ok(bytes < 500 + 150 * Math.ceil(count / 256), `${bytes} bytes of ${count} Services`)
    }
  })

  test('in buckets is exactly the difference, and leaves everything sound', () => {
    const ruleset = new TestRuleset(settings)
    const left = new Map<string, ServiceRules | undefined>(many(300, { nodePort: 30001 }))
    let held = applyChanges(empty, ruleset.update(left))
    for (const next of [
      new Map([rulesOf(301, { nodePort: 31000, vip: '198.51.100.9' })]),
      new Map([rulesOf(301, { endpoints: 0, nodePort: 31000, vip: '198.51.100.9' })]),
      new Map([[rulesOf(301)[0], undefined]]),
      new Map([rulesOf(5, { endpoints: 3 })]),
      many(10),
    ]) {
      for (const [key, rules] of next) left.set(key, rules)
      const changes = ruleset.update(next)
      assert.equal(renderRestore(changes), renderRestore(diffRulesets(held, tablesOf(left))))
      held = applyChanges(held, changes)
      assert.deepEqual(findInconsistencies(held, proxyHooks()), [])
    }
  })
})

describe('node ports', () => {
  test('above the limit are found by their range, and only ranges in use have a bucket', () => {
    const ruleset = new TestRuleset(settings)
    ruleset.update(new Map(Array.from({ length: 300 }, (_, n) => rulesOf(n, { nodePort: 30000 + n }))))
    const { nat } = ruleset.ruleset()
    assert.deepEqual(nat.get('PLAT-NODEPORTS')?.length, 1)
    assert.deepEqual(nat.get('PLAT-PORT')?.length, 6)
    const change = ruleset.update(new Map([rulesOf(0, { nodePort: 30299 + 64 })]))
    assert.deepEqual(shared(change).sort(), ['nat PLAT-PORT', 'nat PLAT-PORT-TCP-468', 'nat PLAT-PORT-TCP-474'])
  })
})

test('settings that change rewrite the fixed chains only', () => {
  for (const count of [3, 300]) {
    const ruleset = new TestRuleset(settings)
    ruleset.update(many(count))
    ruleset.configure({ ...settings, nodePortAddresses: [ip('192.0.2.1')], dropInvalid: false })
    assert.deepEqual(shared(ruleset.update(new Map())), [
      'filter PLAT-INPUT',
      'filter PLAT-INVALID',
      'nat PLAT-SERVICES',
    ])
    assert.deepEqual(ruleset.update(new Map()), [])
  }
})

for (const [chosen, own, addressOf] of [
  [settings, '192.0.2.1', (n: number) => `10.96.${n >> 8}.${n & 255}`],
  [settingsV6, '2001:db8::1', (n: number) => `fd00:96::${n.toString(16)}`],
] as const) {
  test(`every address of every Service leads where it should, flat and in buckets (${chosen.family})`, () => {
    const isIpv4 = chosen.family === 'IPv4'
    const vip = (n: number) => (isIpv4 ? `198.51.100.${n}` : `2001:db8:1::${n.toString(16)}`)
    const pod = isIpv4 ? '10.244.9.9' : 'fd00:244::9:9:9'
    const counts = [bucketLimits.split, bucketLimits.split + 40, ...(isIpv4 ? [deepBucketLimits.split + 1] : [])]
    for (const count of counts) {
      const ruleset = new TestRuleset(chosen)
      const rules = Array.from({ length: count }, (_, n) =>
        rulesOf(n, { settings: chosen, nodePort: 30000 + n, ...(n < 20 && { vip: vip(n) }) }),
      )
      ruleset.update(new Map(rules))
      // Some load balancers' addresses stand on links of this node, and one of them ends like another Service's cluster IP.
      const world = rulesWorldOf(ruleset, [own, vip(3), vip(4)])
      for (const n of [0, 1, 3, 4, 15, 16, 19, 200, count - 1]) checkWays(n, world, addressOf(n), vip(n))
      assert.equal(describeTrace(firstPacket(pod, vip(3), 81), world), 'untouched')
      assert.match(
        describeTrace(firstPacket(pod, vip(3), 30005), world),
        /masqueraded$/,
        'a node port on such an address',
      )
    }
    function checkWays(n: number, world: TraceContext, clusterIp: string, balancer: string): void {
      const endpoint = isIpv4 ? `10.244.0.${(n % 254) + 1}:8080` : `fd00:244::${n.toString(16)}:8080`
      const reach = (to: string, port: number) => describeTrace(firstPacket(pod, to, port), world)
      if (n > 0 || isIpv4) assert.equal(reach(clusterIp, 80), endpoint)
      if (n > 0 || isIpv4) assert.equal(reach(own, 30000 + n), `${endpoint} masqueraded`)
      if (n > 0 && n < 20) assert.equal(reach(balancer, 80), `${endpoint} masqueraded`)
    }
  })
}
