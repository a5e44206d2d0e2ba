import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chiSquareOfEqualShares, describeCounts, isUndisturbed } from '../../../src/demo/findings.ts'
import { LoadTally, loadReportSchema } from '../../../src/demo/load-report.ts'

test('a tally counts answers by pod, source and kind, failures by reason, and takes quantiles of all latencies', () => {
  const tally = new LoadTally()
  tally.add({ kind: 'short', source: 'a', latencyMs: 1, pod: 'web-1' })
  tally.add({ kind: 'keepAlive', source: 'a', latencyMs: 3, pod: 'web-2' })
  tally.add({ kind: 'short', source: undefined, latencyMs: 2, pod: 'web-1' })
  tally.add({ kind: 'short', source: 'b', latencyMs: 100, failure: 'ECONNREFUSED' })
  const report = loadReportSchema.parse(JSON.parse(JSON.stringify(tally.report(2))))
  assert.deepEqual(report, {
    requests: 4,
    ok: { keepAlive: 1, short: 2 },
    failed: 1,
    failures: { ECONNREFUSED: 1 },
    byPod: { 'web-1': 2, 'web-2': 1 },
    bySource: { a: { 'web-1': 1, 'web-2': 1 } },
    seconds: 2,
    answersPerSecond: 1.5,
    latencyMs: { p50: 2, p99: 100, max: 100 },
  })
})

test('an empty tally has no latencies and no failures', () => {
  const { failed, latencyMs } = new LoadTally().report(1)
  assert.deepEqual({ failed, latencyMs }, { failed: 0, latencyMs: { p50: 0, p99: 0, max: 0 } })
})

test('chi-square is 0 for equal shares and far beyond the bound when one of three endpoints gets nothing', () => {
  assert.equal(chiSquareOfEqualShares([100, 100, 100]), 0)
  assert.equal(chiSquareOfEqualShares([150, 150, 0]), 150)
  // By hand: (5² + 5² + 10²) / 100.
  assert.equal(chiSquareOfEqualShares([105, 105, 90]), 1.5)
})

test('counts are printed in the order of their names, numbers as numbers', () => {
  assert.equal(describeCounts({ 'web-10': 1, 'web-9': 2 }), 'web-9 2, web-10 1')
  assert.equal(describeCounts({}), 'none')
})

test('traffic is undisturbed only without a failure, at the promised rate, over both kinds of connection', () => {
  const tally = new LoadTally()
  tally.add({ kind: 'short', source: undefined, latencyMs: 1, pod: 'web-1' })
  tally.add({ kind: 'keepAlive', source: undefined, latencyMs: 1, pod: 'web-1' })
  const good = { ...tally.report(1), answersPerSecond: 1000 }
  assert.ok(isUndisturbed(good))
  assert.ok(!isUndisturbed({ ...good, failed: 1 }))
  assert.ok(!isUndisturbed({ ...good, answersPerSecond: 999.9 }))
  assert.ok(!isUndisturbed({ ...good, ok: { keepAlive: 2, short: 0 } }))
})
