import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { runIsolated } from '../../../src/demo/isolate.ts'
import { skipReason } from '../../helpers/netns.ts'

const count = 200
const skip = skipReason('iptables', 'ipset', 'conntrack', 'perl', 'unshare', 'nsenter', '/usr/lib/cni/bridge')

// A dozen, and all else that the program observes: test/e2e/network-policies.test.ts.
test(`of ${count} pods that the agent runs and ${count} of another runtime, which may not send and send from their first instruction, not one packet arrives`, {
  skip,
}, async () => {
  const program = resolve(import.meta.dirname, '../../e2e/network-policies.program.ts')
  const signal = AbortSignal.timeout(550_000)
  const { exitCode, stdout } = await runIsolated(program, [String(count)], { signal, stdout: 'pipe' })
  assert.equal(exitCode, 0, 'the program failed; its output is above')
  const { firstPackets } = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  for (const kind of ['run', 'chained']) {
    const { ended, denied, allowed } = firstPackets[kind]
    assert.deepEqual({ ended, denied }, { ended: count, denied: 0 })
    assert.ok(allowed > 20, `only ${allowed} packets of a pod that may send arrived`)
  }
})
