import { describe, test } from 'node:test'
import { skipReason, withNetns } from '../../helpers/netns.ts'
import { checkRandomClusters } from '../../kernel/netfilter/random-clusters.ts'

describe('500 random clusters', { concurrency: 2 }, () => {
  for (const flavour of ['nft', 'legacy'] as const) {
    const skip = skipReason(`iptables-${flavour}`, 'ipset', 'conntrack')
    test(`every packet meets what the tracer says (iptables-${flavour})`, { skip, timeout: 1_200_000 }, () =>
      withNetns((netns) => checkRandomClusters(netns, flavour, { clusters: 500, servicesPerCluster: 8 })),
    )
  }
})
