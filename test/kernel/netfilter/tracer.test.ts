import { describe, test } from 'node:test'
import { skipReason, withNetns } from '../../helpers/netns.ts'
import { checkRandomClusters } from './random-clusters.ts'

// Side by side: most of the time is waiting for silence and for refusals. 500 clusters: test/long/proxy/tracer.test.ts.
describe('500 random Services in 10 clusters', { concurrency: 2 }, () => {
  for (const flavour of ['nft', 'legacy'] as const) {
    const skip = skipReason(`iptables-${flavour}`, 'ipset', 'conntrack')
    test(`every packet meets what the tracer says (iptables-${flavour})`, { skip, timeout: 300_000 }, () =>
      withNetns((netns) => checkRandomClusters(netns, flavour, { clusters: 10, servicesPerCluster: 50 })),
    )
  }
  const skip = skipReason('nft', 'conntrack')
  test('every packet meets what the tracer says (nftables)', { skip, timeout: 300_000 }, () =>
    withNetns((netns) => checkRandomClusters(netns, 'nftables', { clusters: 10, servicesPerCluster: 50 })),
  )
})
