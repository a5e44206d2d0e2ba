import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipReason } from '../../../helpers/netns.ts'
import { countFirstPackets } from './window.ts'

const skip = skipReason('iptables-nft', 'ip6tables-nft', 'ipset', 'conntrack', 'perl')

// 200 pods: test/long/policy/window.test.ts.
test('of 30 pods that may not send and send from their first instruction, not one packet arrives', {
  skip,
  timeout: 120_000,
}, async () => {
  const { started, denied, allowed } = await countFirstPackets(30)
  assert.equal(started, 30)
  assert.equal(denied, 0)
  assert.ok(allowed > 100, `only ${allowed} packets of a pod that may send arrived`)
})
