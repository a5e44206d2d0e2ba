import { test } from 'node:test'
import { skipReason } from '../../helpers/netns.ts'
import { churnUnderLoad } from '../../kernel/node/proxy/churn.ts'

for (const flavour of ['nft', 'legacy'] as const) {
  const skip = skipReason(`iptables-${flavour}`, 'conntrack')
  test(
    `endpoints come and go under load for a minute, and no connection notices (${flavour})`,
    { skip, timeout: 180_000 },
    () => churnUnderLoad(flavour, 60_000),
  )
  test(
    `endpoints of a Service of 1,000 ports, which is written in turns, come and go under load, and no connection notices (${flavour})`,
    { skip, timeout: 180_000 },
    () => churnUnderLoad(flavour, 30_000, 1000),
  )
}
