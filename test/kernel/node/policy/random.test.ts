import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { skipReason } from '../../../helpers/netns.ts'
import { checkRandomPolicies } from './random-policies.ts'

// Side by side: while the packets of one model are waited for, rules of the other are written. Thousands: test/long/policy/random.test.ts.
describe('random policies, pods and namespaces', { concurrency: 2 }, () => {
  for (const flavour of ['nft', 'legacy'] as const) {
    const skip = skipReason(`iptables-${flavour}`, `ip6tables-${flavour}`, 'ipset', 'conntrack', 'perl')
    test(`evaluator, tracer and kernel agree about every packet (iptables-${flavour})`, {
      skip,
      timeout: 120_000,
    }, async () => {
      const firstSeed = flavour === 'nft' ? 1 : 1_000
      const { allowed, denied } = await checkRandomPolicies({ flavour, sets: 100, flowsPerSet: 100, firstSeed })
      assert.ok(allowed > 2_000 && denied > 2_000, `${allowed} allowed, ${denied} denied`)
    })
  }
})
