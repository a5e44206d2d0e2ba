import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../../src/demo/isolate.ts'
import { skipReason } from '../../../helpers/netns.ts'

const seenSchema = z.object({
  sync: z.object({
    texts: z.number(),
    ms: z.number(),
    programs: z.array(z.string()),
    report: z.object({ restores: z.number(), elements: z.object({ added: z.number(), removed: z.number() }) }),
  }),
  changes: z.object({ p50: z.number(), p99: z.number(), programs: z.number(), texts: z.number() }),
  quietWarnings: z.number(),
  repairs: z.record(z.string(), z.object({ repairedAfterMs: z.number(), warnings: z.number() })),
  recognised: z.object({ is: z.boolean(), ms: z.number() }),
  adopted: z.object({ kind: z.string(), ms: z.number(), programs: z.array(z.string()) }),
  isSame: z.boolean(),
  verified: z.array(z.object({ set: z.string(), missing: z.number(), unwanted: z.number() })),
  sessions: z.record(z.string(), z.object({ kind: z.string(), isRight: z.boolean() })),
})

describe('the writer of the table of nftables, with the library in its process', {
  skip: skipReason('nft', 'perl', 'unshare', 'setpriv'),
  timeout: 120_000,
}, () => {
  let seen: z.infer<typeof seenSchema>

  before(async () => {
    const program = path.join(import.meta.dirname, 'nft-writer.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(110_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, stdout)
    seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
  })

  test('2,000 Services are rules by a program, elements without a text, and the state', () => {
    assert.ok(seen.sync.report.restores > 2)
    assert.equal(seen.sync.texts, 1)
    assert.ok(seen.sync.report.elements.added > 2000 * 3)
    assert.deepEqual(
      seen.sync.programs.map((each) => each.split(' ').slice(0, 3).join(' ')),
      ['nft -f -'],
    )
  })

  test('an endpoint is replaced without a program or a text, and the own changes are not taken for drift', () => {
    assert.deepEqual([seen.changes.programs, seen.changes.texts], [0, 0])
    assert.ok(seen.changes.p50 < 2, `${seen.changes.p50} ms`)
    assert.equal(seen.quietWarnings, 0)
  })

  test('everything that another program does to the table is repaired within seconds, as the monitor reports it', () => {
    assert.equal(Object.keys(seen.repairs).length, 12)
    for (const [what, { repairedAfterMs, warnings }] of Object.entries(seen.repairs)) {
      assert.ok(warnings > 0, what)
      assert.ok(repairedAfterMs < 5000, `${what}: ${repairedAfterMs} ms`)
    }
  })

  test('a restart recognises its table, writes nothing, and a comparison repairs what was changed meanwhile', () => {
    assert.equal(seen.recognised.is, true)
    assert.equal(seen.adopted.kind, 'unchanged')
    assert.ok(!seen.adopted.programs.some((program) => program.includes('-f')))
    assert.equal(seen.isSame, true)
    assert.deepEqual(seen.verified, [{ set: 'refuse', missing: 0, unwanted: 1 }])
  })

  test('a kept nft and a started one write the same', () => {
    assert.deepEqual(seen.sessions, {
      interactive: { kind: 'interactive', isRight: true },
      program: { kind: 'program', isRight: true },
    })
  })
})
