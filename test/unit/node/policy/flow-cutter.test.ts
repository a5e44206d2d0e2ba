import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Ip } from '../../../../src/model/ip.ts'
import { FlowCutter, type TrackedFlow } from '../../../../src/node/policy/flow-cutter.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { until } from '../../../helpers/until.ts'

const web = '10.244.1.5' as Ip

function flow(source: string, replySource: string, replySourcePort: number, protocol: TrackedFlow['protocol'] = 'tcp') {
  return { source: source as Ip, replySource: replySource as Ip, replySourcePort, protocol }
}

/** A table of connections of which those to port 80 are allowed. */
function createCutter(flows: TrackedFlow[]) {
  const judged: TrackedFlow[] = []
  const left: Ip[] = []
  const barred: TrackedFlow[] = []
  const runs: number[] = []
  let failures = 0
  const cutter = new FlowCutter<TrackedFlow>({
    family: 'IPv4',
    flows: {
      list: async (protocol) => flows.filter((each) => each.protocol === protocol),
      bar: async (stale) => void barred.push(...stale),
      remove: async (stale) => {
        if (failures > 0) {
          failures -= 1
          throw new Error('the table is busy')
        }
        for (const each of stale) flows.splice(flows.indexOf(each), 1)
      },
      removeOf: async (addresses) => {
        left.push(...addresses)
      },
    },
    judge: () => (each) => {
      judged.push(each)
      return each.replySourcePort === 80
    },
    metrics: { observeCut: (_durationMs, deleted) => runs.push(deleted) },
    log: silentLogger,
    minGapMs: () => 0,
  })
  return { cutter, judged, barred, left, runs, fail: (times: number) => (failures = times) }
}

describe('the cutter of connections', () => {
  test('deletes exactly the connections that are not allowed', async () => {
    const flows = [flow(web, '10.244.2.1', 80), flow(web, '10.244.2.1', 443), flow(web, '10.244.2.1', 53, 'udp')]
    const { cutter, runs, barred } = createCutter(flows)
    cutter.judgeAll()
    await until('it has run', () => runs.length === 1)
    assert.deepEqual(flows, [flow(web, '10.244.2.1', 80)])
    assert.deepEqual(barred, [flow(web, '10.244.2.1', 443), flow(web, '10.244.2.1', 53, 'udp')])
    assert.deepEqual(runs, [2])
  })

  test('judges the connections between two ends to one port once', async () => {
    const flows = Array.from({ length: 50 }, () => flow(web, '10.244.2.1', 443))
    const { cutter, judged, runs } = createCutter(flows)
    cutter.judgeAll()
    await until('it has run', () => runs.length === 1)
    assert.equal(judged.length, 2, 'once to find them, once before they are deleted')
    assert.equal(flows.length, 0)
  })

  test('forgets the addresses that left their pods, those of its family only, and says when', async () => {
    const { cutter, left, judged } = createCutter([flow(web, '10.244.2.1', 443)])
    cutter.forget([web, 'fd00::5' as Ip])
    await cutter.whenForgotten(1_000)
    assert.deepEqual(left, [web])
    assert.deepEqual(judged, [])
  })

  test('waits for nothing where no address has left', async () => {
    const { cutter } = createCutter([])
    const startedMs = performance.now()
    await cutter.whenForgotten(1_000)
    assert.ok(performance.now() - startedMs < 100)
  })

  test('tries again what failed and says so meanwhile', async () => {
    const flows = [flow(web, '10.244.2.1', 443)]
    const { cutter, runs, fail } = createCutter(flows)
    fail(1)
    cutter.judgeAll()
    await until('it is degraded', () => cutter.health().level === 'degraded')
    assert.match(cutter.health().message, /the table is busy/)
    await until('it has run', () => runs.length === 1)
    assert.deepEqual(flows, [])
    assert.equal(cutter.health().level, 'ok')
  })
})
