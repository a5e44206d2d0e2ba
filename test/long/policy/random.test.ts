import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { skipReason } from '../../helpers/netns.ts'
import { checkRandomPolicies } from '../../kernel/node/policy/random-policies.ts'

describe('2,000 sets of random policies, pods and namespaces', { concurrency: 2 }, () => {
  for (const flavour of ['nft', 'legacy'] as const) {
    const skip = skipReason(`iptables-${flavour}`, `ip6tables-${flavour}`, 'ipset', 'conntrack', 'perl')
    test(`evaluator, tracer and kernel agree about every packet (iptables-${flavour})`, {
      skip,
      timeout: 1_700_000,
    }, async () => {
      const firstSeed = flavour === 'nft' ? 100_000 : 200_000
      const { allowed, denied } = await checkRandomPolicies({ flavour, sets: 1_000, flowsPerSet: 400, firstSeed })
      assert.ok(allowed > 100_000 && denied > 50_000, `${allowed} allowed, ${denied} denied`)
    })
  }
})
