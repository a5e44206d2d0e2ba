import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../src/demo/isolate.ts'
import { skipReason } from '../helpers/netns.ts'

const seenSchema = z.object({
  messages: z.array(z.string()),
  rulesBeforeReady: z.number(),
  rulesAtReady: z.number(),
  exitCode: z.number(),
  rulesAfterStop: z.number(),
  cleaned: z.string(),
  rulesAfterCleanup: z.number(),
  cleanedAgain: z.string(),
  foreignKept: z.boolean(),
})

describe('platnet run as a unit of systemd', { skip: skipReason('iptables', 'ip', 'perl', 'systemd-notify') }, () => {
  let seen: z.infer<typeof seenSchema>

  before(async () => {
    const program = path.join(import.meta.dirname, 'unit-life.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], { signal: AbortSignal.timeout(60_000), stdout: 'pipe' })
    assert.equal(exitCode, 0, stdout)
    seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
  })

  test('READY comes once the first sync is in the kernel, and STOPPING before it ends with exit code 0', () => {
    assert.equal(seen.rulesBeforeReady, 0)
    assert.ok(seen.rulesAtReady > 0)
    assert.ok(
      seen.messages.some((message) => message.startsWith('STOPPING=1')),
      seen.messages.join('; '),
    )
    assert.equal(seen.exitCode, 0)
  })

  test('the rules outlive it; cleanup removes them, says so, and leaves those of others', () => {
    assert.equal(seen.rulesAfterStop, seen.rulesAtReady)
    assert.equal(seen.rulesAfterCleanup, 0)
    assert.match(seen.cleaned, /removed \d+ chains and 3 jumps from the nat table/)
    assert.equal(seen.cleanedAgain, 'nothing of ours was there\n')
    assert.equal(seen.foreignKept, true)
  })
})
