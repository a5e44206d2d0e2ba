import assert from 'node:assert/strict'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../src/demo/isolate.ts'
import { skipReason } from '../../helpers/netns.ts'

/** Of each mode; a whole day of changes of a cluster of 1,000 nodes is some 20 minutes at 200 a second. */
const minutes = Number(process.env['SOAK_MINUTES'] ?? '4')
const skip = skipReason('nft', 'iptables', 'conntrack', 'unshare', 'setpriv')

const sampleSchema = z.object({
  resident: z.number(),
  heap: z.number(),
  descriptors: z.number(),
  timers: z.number(),
  seriesOfMetrics: z.number(),
})
const seenSchema = z.object({
  changes: z.number(),
  seen: z.array(sampleSchema),
  flows: z.object({ flows: z.number(), stale: z.array(z.string()) }),
  differences: z.number(),
  kernel: z.array(z.string()),
  wanted: z.array(z.string()),
  left: z.array(z.string()),
})

for (const mode of ['nftables', 'iptables'])
  describe(`${minutes} minutes of some hundred changes a second beside traffic (${mode})`, { skip }, () => {
    let found: z.infer<typeof seenSchema>

    before(async () => {
      const program = path.join(import.meta.dirname, 'soak.program.ts')
      const signal = AbortSignal.timeout((minutes + 5) * 60_000)
      const { exitCode, stdout } = await runIsolated(program, [mode, String(minutes)], { signal, stdout: 'pipe' })
      assert.equal(exitCode, 0, stdout)
      found = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
    })

    /** The median of a third of the samples. */
    const third = (index: number, what: keyof z.infer<typeof sampleSchema>) => {
      const length = Math.floor(found.seen.length / 3)
      const sorted = found.seen.slice(index * length, (index + 1) * length).map((sample) => sample[what])
      return sorted.sort((a, b) => a - b)[Math.floor(length / 2)] ?? Number.NaN
    }

    test('memory stays as it was after two thirds of the time', (context) => {
      const [early, late] = [third(1, 'resident') / 2 ** 20, third(2, 'resident') / 2 ** 20]
      // Garbage is collected every half minute or so: what is in use then would be seen only by chance.
      const heaps = found.seen.map(({ heap }) => heap / 2 ** 20)
      const first = Math.floor((heaps.length * 2) / 3)
      const [before, after] = [Math.max(...heaps.slice(0, first)), Math.max(...heaps.slice(first))]
      context.diagnostic(`resident ${early.toFixed(1)} MiB, then ${late.toFixed(1)}, after ${found.changes} changes`)
      context.diagnostic(`the most of the heap ${before.toFixed(1)} MiB, then ${after.toFixed(1)}`)
      assert.ok(late < early * 1.1 + 24, `resident: ${early} MiB, then ${late} MiB`)
      assert.ok(after < before * 1.1 + 12, `heap: ${before} MiB, then ${after} MiB`)
    })

    test('descriptors, timers and series of metrics do not add up', () => {
      for (const what of ['descriptors', 'timers', 'seriesOfMetrics'] as const)
        assert.ok(third(2, what) <= third(1, what) + 10, `${what}: ${third(1, what)}, then ${third(2, what)}`)
    })

    test('the kernel holds exactly the endpoints of the end, and none of a Service that is gone', () => {
      assert.ok(found.changes > 1000, String(found.changes))
      assert.equal(found.differences, 0)
      assert.deepEqual(found.kernel, found.wanted)
      assert.deepEqual(found.left, [])
    })

    test('no flow of UDP leads to an endpoint that is gone', () => {
      assert.ok(found.flows.flows >= 40, String(found.flows.flows))
      assert.deepEqual(found.flows.stale, [])
    })
  })
