import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../src/demo/isolate.ts'
import { skipReason } from '../../helpers/netns.ts'

const seenSchema = z.object({
  borrowed: z.object({ answersItself: z.boolean(), fallbacks: z.string() }),
  killed: z.object({ sent: z.number(), completed: z.number(), lost: z.number() }),
  tableAfter: z.boolean(),
})

describe('the cluster DNS of another node', {
  skip: skipReason('iptables', 'nft', 'unshare', 'dig', 'dnsperf'),
}, () => {
  let seen: z.infer<typeof seenSchema>

  before(async () => {
    const program = resolve(import.meta.dirname, 'borrowed-dns.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(240_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, 'the program failed; its output is above')
    seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
  })

  test('is asked by a node whose agent serves none, at 10.96.0.10 like any other Service', () => {
    assert.deepEqual(seen.borrowed, { answersItself: false, fallbacks: '192.0.2.11' })
  })

  test('answers at once when the agent of a node that serves it is killed under dnsperf', (context) => {
    const { sent, completed, lost } = seen.killed
    context.diagnostic(`${lost} of ${sent} queries, one every 2 ms, were lost: an outage of ${lost * 2} ms`)
    assert.equal(seen.tableAfter, false)
    assert.ok(completed > 1000, `${completed} queries were answered`)
    assert.ok(lost <= 500, `${lost} queries were lost: more than a second of them`)
  })
})
