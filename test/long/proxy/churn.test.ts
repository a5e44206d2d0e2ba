import { test } from 'node:test'
import { skipReason } from '../../helpers/netns.ts'
import { churnUnderLoad } from '../../kernel/node/proxy/churn.ts'

test(
  'endpoints come and go under load for a minute, and no connection notices',
  {
    skip: skipReason('iptables-nft', 'conntrack'),
    timeout: 180_000,
  },
  () => churnUnderLoad('nft', 60_000),
)
