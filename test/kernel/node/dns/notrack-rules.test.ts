import assert from 'node:assert/strict'
import path from 'node:path'
import { describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../../src/demo/isolate.ts'
import { skipReason } from '../../../helpers/netns.ts'

const seenSchema = z.object({
  withIt: z.string(),
  outage: z.object({ asked: z.number(), lost: z.number() }),
  again: z.string(),
  sources: z.array(z.string()),
  answers: z.array(z.string().nullable()),
  after: z.string().nullable(),
  leftAfterKill: z.string(),
  boundAfterStop: z.boolean(),
  isRouted: z.boolean(),
})

describe("the cluster DNS' address on a node", { skip: skipReason('nft', 'iptables', 'unshare', 'setpriv') }, () => {
  test('this node answers at the address past the rules of the Service, and the Service answers when the process is killed', async (context) => {
    const program = path.join(import.meta.dirname, 'notrack-rules.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(90_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, stdout)
    const seen = seenSchema.parse(JSON.parse(stdout))
    assert.equal(seen.withIt, 'here')
    const { asked, lost } = seen.outage
    context.diagnostic(`${lost} of ${asked} questions, one every 2 ms, were lost when the process was killed`)
    assert.ok(asked >= 200 && lost <= 500, `${lost} of ${asked} questions were lost: more than a second of them`)
    assert.doesNotMatch(seen.leftAfterKill, /platnet-dns/)
    assert.equal(seen.again, 'here', 'what a crash left is taken over')
    assert.deepEqual(seen.sources, ['10.96.0.10', '192.0.2.1'], 'new queries come from an address that stays')
    assert.deepEqual(seen.answers, ['service', 'service'], 'the earlier ones still get answers')
    assert.equal(seen.after, 'service', 'a clean stop leaves queries to the Service')
    assert.deepEqual([seen.boundAfterStop, seen.isRouted], [false, false])
  })
})
