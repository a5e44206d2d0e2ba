import assert from 'node:assert/strict'
import path from 'node:path'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../../src/demo/isolate.ts'
import { skipReason } from '../../../helpers/netns.ts'

const seenSchema = z.object({
  withIt: z.string(),
  again: z.string(),
  after: z.string().nullable(),
  leftAfterKill: z.string(),
  boundAfterStop: z.boolean(),
})

describe("the cluster DNS' address on a node", { skip: skipReason('nft', 'iptables', 'unshare', 'setpriv') }, () => {
  test('this node answers there past the rules of the Service, and when its process is killed the Service does', async () => {
    const program = path.join(import.meta.dirname, 'exemption.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(90_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, stdout)
    const seen = seenSchema.parse(JSON.parse(stdout))
    assert.equal(seen.withIt, 'here')
    assert.doesNotMatch(seen.leftAfterKill, /platnet-dns/)
    assert.equal(seen.again, 'here', 'what a crash left is taken over')
    assert.equal(seen.after, 'service', 'a clean stop leaves queries to the Service')
    assert.equal(seen.boundAfterStop, false)
  })
})
