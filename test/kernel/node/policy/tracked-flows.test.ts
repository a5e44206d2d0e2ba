import assert from 'node:assert/strict'
import path from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../../src/demo/isolate.ts'
import { skipReason } from '../../../helpers/netns.ts'

const names = z.array(z.string())
const seenSchema = z.object({
  families: z.array(
    z.object({
      listed: z.object({ bySocket: names, byProgram: names }),
      lost: z.array(names),
      left: z.number(),
      replaced: names,
      ofAddresses: names,
      barred: names,
      programs: z.number(),
    }),
  ),
  leftByProgram: z.number(),
})

test('the socket deletes the named connection of each protocol and no other one, and a program what the kernel does not confirm', {
  skip: skipReason('conntrack', 'ipset', 'unshare', 'setpriv'),
  timeout: 60_000,
}, async () => {
  const program = path.join(import.meta.dirname, 'tracked-flows.program.ts')
  const { exitCode, stdout } = await runIsolated(program, [], { signal: AbortSignal.timeout(50_000), stdout: 'pipe' })
  assert.equal(exitCode, 0, stdout)
  const { families, leftByProgram } = seenSchema.parse(JSON.parse(stdout))
  assert.equal(families.length, 2)
  for (const { listed, lost, left, replaced, ofAddresses, barred, programs } of families) {
    assert.equal(listed.bySocket.length, 7)
    assert.deepEqual(listed.bySocket, listed.byProgram)
    assert.deepEqual(
      lost.map((gone) => gone.length),
      Array.from({ length: 13 }, () => 1),
    )
    assert.equal(new Set(lost.flat()).size, 13)
    assert.equal(left, 0)
    assert.equal(replaced.length, 2, 'other connections took the place of the deleted one')
    assert.equal(ofAddresses.length, 3)
    assert.ok(ofAddresses.every((name) => name.includes('sport=1002')))
    assert.equal(barred[0]?.split(' ').length, 3)
    assert.match(barred[1] ?? '', /^\S+1,sctp:80,\S+1$/)
    assert.equal(programs, 0)
  }
  assert.equal(leftByProgram, 0)
})
