import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { clusterCharts, nodeCharts, type SeriesSpec } from '../../../src/console/charts.ts'
import { metricNames, pointBetween, totalsOf } from '../../../src/console/samples.ts'
import type { MetricSample } from '../../../src/observe/index.ts'

function point(spec: Partial<SeriesSpec>, before: readonly MetricSample[], now: readonly MetricSample[], ms = 5_000) {
  const series: readonly SeriesSpec[] = [{ label: '', tone: 'main', kind: 'rate', metric: 'x', ...spec }]
  return pointBetween(series, totalsOf(series, before, 0), totalsOf(series, now, ms))[0]
}

const sample = (name: string, value: number, labels = {}): MetricSample => ({ name, value, labels })

/** Cumulative counts for the bounds 1, 2 and +Inf. */
function histogram(counts: readonly number[], sum: number): readonly MetricSample[] {
  const buckets = ['1', '2', '+Inf'].map((le, index) => sample('x_bucket', counts[index] ?? 0, { le }))
  return [...buckets, sample('x_sum', sum), sample('x_count', counts.at(-1) ?? 0)]
}

describe('a point of a chart', () => {
  test('has the growth of a counter by second, over all labels that fit', () => {
    const where = ({ code = '' }: Readonly<Record<string, string>>) => code !== 'b'
    const at = (a: number) => [
      sample('x', a, { code: 'a' }),
      sample('x', 99 * a, { code: 'b' }),
      sample('x', a, { code: 'c' }),
    ]
    assert.equal(point({ where }, at(5), at(10)), 2)
  })

  test('is unknown where a counter was reset or nothing was observed', () => {
    assert.equal(point({}, [sample('x', 7)], [sample('x', 3)]), null)
    assert.equal(point({ kind: 'mean' }, histogram([1, 1, 1], 1), histogram([1, 1, 1], 1)), null)
    assert.equal(point({ kind: 'p99' }, histogram([1, 1, 1], 1), histogram([1, 1, 1], 1)), null)
  })

  test('has the mean and the 99th percentile of what was observed since the last sample', () => {
    const [before, now] = [histogram([100, 100, 100], 10), histogram([100, 200, 200], 160)]
    assert.equal(point({ kind: 'mean', scale: 1000 }, before, now), 1500)
    assert.equal(point({ kind: 'p99' }, before, now), 1.99)
  })

  test('has the last bound for values beyond all bounds', () => {
    assert.equal(point({ kind: 'p99' }, histogram([0, 0, 0], 0), histogram([0, 0, 9], 90)), 2)
  })
})

test('Every metric of a chart is one that the documentation of metrics lists.', () => {
  const listed = readFileSync('docs/metrics.md', 'utf8')
  const missing = metricNames([...nodeCharts, ...clusterCharts]).filter((name) => !listed.includes(`\`${name}\``))
  assert.deepEqual(missing, [])
})
