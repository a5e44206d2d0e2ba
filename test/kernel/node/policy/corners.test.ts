import { test } from 'node:test'
import { skipReason } from '../../../helpers/netns.ts'
import { cornerNamespaces, cornerPods, policiesOf, policyCorners } from '../../../helpers/policy-corners.ts'
import { checkEveryView } from './flow-checks.ts'
import { withModelCluster } from './model-cluster.ts'
import { PolicyNodes } from './policy-nodes.ts'

for (const flavour of ['nft', 'legacy'] as const) {
  test(
    `every line of the semantic table holds for packets between pods (iptables-${flavour})`,
    {
      skip: skipReason(`iptables-${flavour}`, `ip6tables-${flavour}`, 'ipset', 'perl'),
      timeout: 120_000,
    },
    () =>
      withModelCluster(async (model) => {
        const nodes = await PolicyNodes.start(model, { flavour })
        for (const corner of policyCorners) {
          const policies = policiesOf(corner.policies)
          await nodes.apply({ policies, pods: cornerPods, namespaces: cornerNamespaces })
          await checkEveryView(model, nodes, corner)
        }
        await nodes.stop()
      }),
  )
}
