import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { skipReason } from '../../../helpers/netns.ts'
import { checkRandomPolicies } from './random-policies.ts'

// Side by side: while the packets of one model are waited for, rules of the other are written. Thousands, each in both families:
// test/long/policy/random.test.ts.
describe('200 sets of random policies, pods and namespaces', { concurrency: 2 }, () => {
  for (const [flavour, family, firstSeed] of [
    ['nft', 'IPv4', 1],
    ['legacy', 'IPv6', 1_001],
    ['nft', 'IPv6', 2_001],
    ['legacy', 'IPv4', 3_001],
  ] as const) {
    const skip = skipReason(`iptables-${flavour}`, `ip6tables-${flavour}`, 'ipset', 'conntrack', 'perl')
    test(`evaluator, tracer and kernel agree about every packet (${family}, iptables-${flavour})`, {
      skip,
      timeout: 120_000,
    }, async () => {
      const random = { flavour, families: [family], sets: 50, flowsPerSet: 100, firstSeed }
      const { allowed, denied } = await checkRandomPolicies(random)
      assert.ok(allowed > 500 && denied > 500, `${allowed} allowed, ${denied} denied`)
    })
  }
})
