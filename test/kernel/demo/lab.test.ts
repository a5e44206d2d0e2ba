import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { before, describe, it } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../src/demo/isolate.ts'
import { loadReportSchema } from '../../../src/demo/load-report.ts'
import { listNetns } from '../../../src/host/index.ts'

const seenSchema = z.strictObject({
  node: z.string(),
  direct: z.string(),
  rollout: loadReportSchema,
  stoppedFirst: loadReportSchema,
  netns: z.array(z.string()),
})

describe('the lab of the demo, with rules put in by hand', () => {
  let seen: z.infer<typeof seenSchema>

  before(async () => {
    const program = resolve(import.meta.dirname, 'lab.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], { signal: AbortSignal.timeout(60_000), stdout: 'pipe' })
    assert.equal(exitCode, 0, 'the program in the lab failed; its output is above')
    seen = seenSchema.parse(JSON.parse(stdout))
  })

  it('routes between the client and the pods, the gateway in between', () => {
    assert.equal(seen.direct, 'web-1 10.244.0.1\n')
    assert.deepEqual(seen.netns.toSorted(), ['plt-client', 'plt-pod-1', 'plt-pod-2', 'plt-pod-3', 'plt-pod-4'])
  })

  it('answers at least 1,000 requests a second, none failed while one of three pods is replaced in the right order', () => {
    const { rollout } = seen
    assert.equal(rollout.failed, 0, JSON.stringify(rollout.failures))
    assert.ok(rollout.answersPerSecond >= 1000, `${rollout.answersPerSecond} answers a second`)
    assert.ok(rollout.ok.keepAlive > 1000 && rollout.ok.short > 1000)
    assert.deepEqual(Object.keys(rollout.byPod).toSorted(), ['web-1', 'web-2', 'web-3', 'web-4'])
  })

  it('loses requests when a pod is killed before it leaves the rules', () => {
    assert.ok(seen.stoppedFirst.failed > 0)
    assert.equal(
      seen.stoppedFirst.failed,
      Object.values(seen.stoppedFirst.failures).reduce((sum, n) => sum + n, 0),
    )
  })

  it('leaves nothing on the host', async () => {
    assert.ok(!readdirSync('/sys/class/net').includes('plt-uplink'))
    assert.ok(!(await listNetns()).includes('plt-client'))
  })
})
