import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../../src/demo/isolate.ts'
import { skipReason } from '../../../helpers/netns.ts'

const seenSchema = z.object({ arrived: z.number(), answered: z.boolean(), trouble: z.array(z.string()) })

test('questions from port 0 are dropped and end no thread', {
  skip: skipReason('nft', 'unshare', 'setpriv'),
}, async () => {
  const program = path.join(import.meta.dirname, 'port-zero.program.ts')
  const signal = AbortSignal.timeout(90_000)
  const { exitCode, stdout } = await runIsolated(program, [], { signal, stdout: 'pipe' })
  assert.equal(exitCode, 0, stdout)
  assert.deepEqual(seenSchema.parse(JSON.parse(stdout)), { arrived: 50, answered: true, trouble: [] })
})
