import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

describe('pods and an agent that is killed', {
  skip: skipReason('iptables', 'unshare', 'nsenter', '/usr/lib/cni/bridge'),
}, () => {
  // biome-ignore lint/suspicious/noExplicitAny: what the program saw, judged below
  let seen: any

  before(async () => {
    const program = resolve(import.meta.dirname, 'pod-crashes.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(400_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, 'the program failed; its output is above')
    seen = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
  })

  test('after SIGKILL of the agent at any step of a pod, the next agent finishes the pod and nothing is left', () => {
    assert.equal(seen.survived.length, seen.wanted, seen.survived.join(', '))
  })

  test('50 pods that are created and removed at once have different addresses, and nothing is left', () => {
    const { addresses, restarts, leftovers, processes } = seen.many
    assert.deepEqual([addresses, restarts, processes], [50, 0, 0])
    for (const [what, names] of Object.entries(leftovers)) assert.deepEqual(names, [], what)
  })
})
