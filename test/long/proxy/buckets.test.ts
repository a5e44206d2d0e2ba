import { describe, test } from 'node:test'
import { dispatchLimits } from '../../../src/netfilter/dispatch.ts'
import { skipReason, withNetns } from '../../helpers/netns.ts'
import { checkBuckets } from '../../kernel/netfilter/bucket-packets.ts'

describe('with 17,000 Services in 4,096 buckets every address leads to its endpoint', { concurrency: 2 }, () => {
  for (const flavour of ['nft', 'legacy'] as const) {
    const skip = skipReason(`iptables-${flavour}`, 'ipset', 'conntrack')
    test(`with iptables-${flavour}`, { skip, timeout: 300_000 }, () =>
      withNetns((netns) => checkBuckets(netns, flavour, 17_000, [dispatchLimits])),
    )
  }
})
