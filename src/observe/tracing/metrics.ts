import type { MetricSpec } from '../../model/metric-spec.ts'
import type { Metrics } from '../metrics.ts'
import type { SpanQueue } from './span-queue.ts'

export const tracingMetrics = {
  exported: {
    type: 'counter',
    name: 'platnet_tracing_spans_exported_total',
    help: 'Spans that the collector has taken.',
  },
  dropped: {
    type: 'counter',
    name: 'platnet_tracing_spans_dropped_total',
    help: 'Spans that were dropped: too many waited (queue_full), or the collector did not take them (refused).',
    labels: { reason: ['queue_full', 'refused'] },
  },
  waiting: {
    type: 'gauge',
    name: 'platnet_tracing_spans_waiting',
    help: 'Spans that wait for their export.',
  },
} as const satisfies Readonly<Record<string, MetricSpec>>

/** Registers the metrics of the export; they are read at each scrape. */
export function collectSpanCounts(metrics: Metrics, queue: SpanQueue): void {
  metrics.collectedCounter(tracingMetrics.exported, () => [{ value: queue.counts.exported }])
  metrics.collectedCounter(tracingMetrics.dropped, () => [
    { value: queue.counts.overflowed, labels: { reason: 'queue_full' } },
    { value: queue.counts.refused, labels: { reason: 'refused' } },
  ])
  metrics.collectedGauge(tracingMetrics.waiting, () => [{ value: queue.size }])
}
