import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../src/demo/isolate.ts'
import { loadReportSchema } from '../../src/demo/load-report.ts'
import { skipReason } from '../helpers/netns.ts'

const left = z.object({ mode: z.string(), left: z.array(z.string()) })
const seenSchema = z.object({
  switches: z.array(left),
  brokenOff: z.array(z.string()),
  finished: left,
  reports: z.array(loadReportSchema),
  restartEvents: z.array(z.string()),
})

describe('an agent that is started with another mode of the proxy, under load', {
  skip: skipReason('iptables', 'nft', 'unshare', 'ip'),
  timeout: 120_000,
}, () => {
  let seen: z.infer<typeof seenSchema>

  before(async () => {
    const program = path.join(import.meta.dirname, 'switched-modes.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(110_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, stdout)
    seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
  })

  test('leaves the rules of its own mode alone, either way, and with auto', () => {
    assert.deepEqual(seen.switches, [
      { mode: 'nftables', left: ['nftables'] },
      { mode: 'iptables', left: ['iptables'] },
      { mode: 'auto', left: ['nftables'] },
      { mode: 'iptables', left: ['iptables'] },
      { mode: 'nftables', left: ['nftables'] },
    ])
  })

  test('finishes what an agent that ended in between left', () => {
    assert.deepEqual(seen.brokenOff, ['iptables', 'nftables'])
    assert.deepEqual(seen.finished.left, ['nftables'])
  })

  test('refuses no new connection and cuts none, from outside, to a node port and from a pod', () => {
    for (const { failed, failures, ok } of seen.reports) {
      assert.deepEqual([failed, failures], [0, {}])
      assert.ok(ok.keepAlive > 200 && ok.short > 200, JSON.stringify(ok))
    }
  })

  test('keeps every connection attempt below the second after which TCP would send it again', () => {
    for (const { latencyMs } of seen.reports) assert.ok(latencyMs.max < 1000, `${latencyMs.max} ms`)
  })

  test('writes no rule, chain or table at a restart in the mode nftables', () => {
    assert.deepEqual(seen.restartEvents, [])
  })
})
