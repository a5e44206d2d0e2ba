import { test } from 'node:test'
import { skipReason } from '../../../helpers/netns.ts'
import { churnUnderLoad } from './churn.ts'

for (const flavour of ['nft', 'legacy'] as const) {
  test(
    `endpoints come and go under load, and no connection notices (${flavour})`,
    {
      skip: skipReason('iptables-nft', 'iptables-legacy', 'conntrack'),
      timeout: 120_000,
    },
    () => churnUnderLoad(flavour, 4000),
  )
}
