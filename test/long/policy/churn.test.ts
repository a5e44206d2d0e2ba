import assert from 'node:assert/strict'
import { test } from 'node:test'
import { skipReason } from '../../helpers/netns.ts'
import { churnUnderLoad } from '../../kernel/node/policy/churn.ts'

const skip = skipReason('iptables-nft', 'ip6tables-nft', 'ipset', 'conntrack', 'perl')
const reason =
  'between the commit of chains and the change of sets a pod stands in an old group whose policies have their new rules'

test('while labels and policies change for a minute, no packet passes that all states forbid, and none is lost that all allow', {
  skip,
  timeout: 300_000,
}, async () => {
  const { changes, allowed, denied, wrong } = await churnUnderLoad({ durationMs: 60_000, seed: 7 })
  assert.deepEqual(wrong, [])
  assert.ok(
    changes > 200 && allowed > 2_000 && denied > 1_000,
    `${changes} changes, ${allowed} allowed, ${denied} denied`,
  )
})

test('the same holds where one write takes several changes, or both the pods and the rules of a policy', {
  skip,
  todo: reason,
  timeout: 300_000,
}, async () => {
  const { wrong } = await churnUnderLoad({ durationMs: 30_000, seed: 7, isHasty: true })
  assert.deepEqual(wrong, [])
})
