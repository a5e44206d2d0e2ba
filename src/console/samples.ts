import type { MetricSample } from '../observe/index.ts'
import type { ChartSpec, SeriesSpec } from './charts.ts'

/** The totals of all series at one time. */
export interface Totals {
  /** Monotonic milliseconds. */
  readonly atMs: number
  readonly series: readonly SeriesTotal[]
}

interface SeriesTotal {
  readonly value: number
  readonly count: number
  /** Cumulative counts by upper bound, in order. */
  readonly buckets: readonly (readonly [bound: number, count: number])[]
}

/** One value for each series of each chart, in order; null where nothing was observed. */
export type Point = readonly (number | null)[]

export function seriesOf(charts: readonly ChartSpec[]): readonly SeriesSpec[] {
  return charts.flatMap(({ series }) => series)
}

/** Returns the metrics to read: a part of a histogram is read with the whole. */
export function metricNames(charts: readonly ChartSpec[]): readonly string[] {
  return [...new Set(seriesOf(charts).map(({ metric }) => metric.replace(/_seconds_(count|sum)$/, '_seconds')))]
}

export function totalsOf(series: readonly SeriesSpec[], samples: readonly MetricSample[], atMs: number): Totals {
  const byName = Map.groupBy(samples, ({ name }) => name)
  return { atMs, series: series.map((spec) => totalOf(spec, byName)) }
}

function totalOf(
  { metric, kind, where = () => true }: SeriesSpec,
  byName: ReadonlyMap<string, readonly MetricSample[]>,
): SeriesTotal {
  const matching = (name: string) => (byName.get(name) ?? []).filter(({ labels }) => where(labels))
  const sum = (name: string) => matching(name).reduce((total, { value }) => total + value, 0)
  if (kind === 'rate' || kind === 'gauge') return { value: sum(metric), count: 0, buckets: [] }
  const buckets = kind === 'p99' ? addBuckets(matching(`${metric}_bucket`)) : []
  return { value: sum(`${metric}_sum`), count: sum(`${metric}_count`), buckets }
}

function addBuckets(samples: readonly MetricSample[]): SeriesTotal['buckets'] {
  const totals = new Map<number, number>()
  for (const { labels, value } of samples) {
    const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le'])
    totals.set(bound, (totals.get(bound) ?? 0) + value)
  }
  return [...totals].sort(([one], [other]) => one - other)
}

/** Returns what happened between two samples. A counter that fell was reset: nothing is known of that interval. */
export function pointBetween(series: readonly SeriesSpec[], before: Totals, now: Totals): Point {
  const seconds = (now.atMs - before.atMs) / 1000
  return series.map(({ kind, scale = 1 }, index) => {
    const [old, next] = [before.series[index], now.series[index]]
    if (old === undefined || next === undefined) return null
    const value = valueBetween(kind, old, next, seconds)
    return value === null ? null : Number((value * scale).toPrecision(4))
  })
}

function valueBetween(kind: SeriesSpec['kind'], old: SeriesTotal, next: SeriesTotal, seconds: number): number | null {
  if (kind === 'gauge') return next.value
  if (kind === 'rate') return next.value < old.value || seconds <= 0 ? null : (next.value - old.value) / seconds
  const count = next.count - old.count
  if (count <= 0) return null
  return kind === 'mean' ? (next.value - old.value) / count : quantile(0.99, old, next)
}

/** Interpolates within the bucket, as `histogram_quantile` of Prometheus does. */
function quantile(share: number, old: SeriesTotal, next: SeriesTotal): number | null {
  const before = new Map(old.buckets)
  const grown = next.buckets.map(([bound, count]) => [bound, count - (before.get(bound) ?? 0)] as const)
  const wanted = share * (grown.at(-1)?.[1] ?? 0)
  let [lower, below] = [0, 0]
  for (const [bound, count] of grown) {
    if (count >= wanted && count > below) {
      if (bound === Number.POSITIVE_INFINITY) return lower
      return lower + ((bound - lower) * (wanted - below)) / (count - below)
    }
    lower = bound
    below = count
  }
  return null
}
