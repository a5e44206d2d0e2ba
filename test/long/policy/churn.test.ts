import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipReason } from '../../helpers/netns.ts'
import { churnUnderLoad } from '../../kernel/node/policy/churn.ts'

const skip = skipReason('iptables-nft', 'ip6tables-nft', 'ipset', 'conntrack', 'perl')
test('while labels and policies change for a minute, no packet passes that all states forbid, and none is lost that all allow', {
  skip,
  timeout: 1_500_000,
}, async () => {
  const { changes, allowed, denied, wrong } = await churnUnderLoad({ durationMs: 60_000, minChanges: 200, seed: 7 })
  assert.deepEqual(wrong, [])
  assert.ok(
    changes >= 200 && allowed > 2_000 && denied > 1_000,
    `${changes} changes, ${allowed} allowed, ${denied} denied`,
  )
})

// Watches of different kinds have no common order: what counts is every mixture of versions that were current while a packet was sent.
test('the same holds by mixtures of states where one write takes several changes, or both the pods and the rules of a policy', {
  skip,
  timeout: 1_500_000,
}, async () => {
  const report = await churnUnderLoad({ durationMs: 30_000, minChanges: 200, seed: 7, isHasty: true })
  const { changes, allowed, denied, wrong } = report
  assert.deepEqual(wrong, [])
  assert.ok(allowed > 500 && denied > 500, `${changes} changes, ${allowed} allowed, ${denied} denied`)
})
