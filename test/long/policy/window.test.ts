import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipReason } from '../../helpers/netns.ts'
import { countFirstPackets } from '../../kernel/node/policy/window.ts'

const skip = skipReason('iptables-nft', 'ip6tables-nft', 'ipset', 'conntrack', 'perl')
test('of 200 pods that may not send and send from their first instruction, not one packet arrives', {
  skip,
  timeout: 1_500_000,
}, async () => {
  const { started, denied, allowed } = await countFirstPackets(200)
  assert.equal(started, 200)
  assert.equal(denied, 0)
  assert.ok(allowed > 100, `only ${allowed} packets of a pod that may send arrived`)
})
