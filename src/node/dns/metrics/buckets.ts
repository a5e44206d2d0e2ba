/** The counts of a Prometheus histogram, before they are added up. */
export interface HistogramCounts {
  readonly bounds: readonly number[]
  /** One count more than there are bounds: the last is for values beyond them. */
  readonly counts: Float64Array
  sum: number
}

/** CoreDNS' bounds: 0.25 ms doubling to 8.192 s. */
export const timeBounds: readonly number[] = Array.from({ length: 16 }, (_, index) => 0.00025 * 2 ** index)

/** CoreDNS' bounds for what should take no time, in seconds. */
export const slimTimeBounds: readonly number[] = [0.00025, 0.0025, 0.025, 0.25, 2.5]

/** CoreDNS' bounds of the programming latency: 1 ms doubling to 524 s. */
export const programmingBounds: readonly number[] = Array.from({ length: 20 }, (_, index) => 0.001 * 2 ** index)

export const sizeBounds: readonly number[] = [
  0, 100, 200, 300, 400, 511, 1023, 2047, 4095, 8291, 16_000, 32_000, 48_000, 64_000,
]

export function createHistogram(bounds: readonly number[]): HistogramCounts {
  return { bounds, counts: new Float64Array(bounds.length + 1), sum: 0 }
}

export function observe(histogram: HistogramCounts, value: number): void {
  const { bounds, counts } = histogram
  let index = 0
  while (index < bounds.length && value > (bounds[index] ?? 0)) index += 1
  counts[index] = (counts[index] ?? 0) + 1
  histogram.sum += value
}

export function addHistogram(to: HistogramCounts, from: HistogramCounts): void {
  for (const [index, count] of from.counts.entries()) to.counts[index] = (to.counts[index] ?? 0) + count
  to.sum += from.sum
}
