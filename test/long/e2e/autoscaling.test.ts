import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { before, describe, test } from 'node:test'
import { z } from 'zod'
import { runIsolated } from '../../../src/demo/isolate.ts'
import { missingKubectl } from '../../helpers/kubectl.ts'
import { skipReason } from '../../helpers/netns.ts'

const seenSchema = z.object({
  growth: z.object({
    created: z.string(),
    pods: z.string(),
    nodes: z.string(),
    table: z.string(),
    description: z.string(),
  }),
  fall: z.object({ events: z.string() }),
  lost: z.object({ message: z.string() }),
})

const skip = missingKubectl() || skipReason('iptables', 'unshare', 'nsenter', '/usr/lib/cni/bridge')

describe('a Deployment whose pods really run, with an autoscaler', { skip }, () => {
  let seen: z.infer<typeof seenSchema>

  before(async () => {
    const program = resolve(import.meta.dirname, 'autoscaling.program.ts')
    const { exitCode, stdout } = await runIsolated(program, [], {
      signal: AbortSignal.timeout(400_000),
      stdout: 'pipe',
    })
    assert.equal(exitCode, 0, 'the program failed; its output is above')
    seen = seenSchema.parse(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? ''))
  })

  test('grows to its maximum under load, made by kubectl autoscale', () => {
    assert.match(seen.growth.created, /horizontalpodautoscaler\.autoscaling\/web autoscaled/)
    assert.match(seen.growth.table, /^web +Deployment\/web +cpu: \d+%\/50% +1 +3 +\d /m)
    assert.match(seen.growth.description, /ScalingActive +True +ValidMetricFound/)
    assert.match(seen.growth.description, /SuccessfulRescale/)
  })

  test('is shown by kubectl top, by container, and so is its node', () => {
    const rows = seen.growth.pods.trim().split('\n').slice(1)
    assert.equal(rows.length, 3)
    for (const row of rows) assert.match(row, /^web-\S+ +main +\d+m +\d+Mi *$/)
    assert.ok(
      rows.some((row) => Number(/ (\d+)m /.exec(row)?.[1]) > 25),
      seen.growth.pods,
    )
    assert.match(seen.growth.nodes, /^node-1 +\d+m +\d+% +\d+Mi +\d+% *$/m)
  })

  test('falls to its minimum when the load is over', () => {
    assert.match(seen.fall.events, /SuccessfulRescale .*New size: 1; reason: All metrics below target/)
  })

  test('has an autoscaler that says that there are no figures when the agent is away', () => {
    assert.match(seen.lost.message, /no metrics returned from resource metrics API$/)
  })
})
