import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipReason } from '../../../helpers/netns.ts'
import { churnUnderLoad } from './churn.ts'

const skip = skipReason('iptables-nft', 'ip6tables-nft', 'ipset', 'conntrack', 'perl')

// A minute: test/long/policy/churn.test.ts.
test('while labels and policies change, no packet passes that all states forbid, and none is lost that all allow', {
  skip,
  timeout: 120_000,
}, async () => {
  const { changes, allowed, denied, wrong } = await churnUnderLoad({ durationMs: 8_000, minChanges: 20, seed: 1 })
  assert.deepEqual(wrong, [])
  assert.ok(changes >= 20 && allowed > 200 && denied > 100, `${changes} changes, ${allowed} allowed, ${denied} denied`)
})
