import type { MetricSpec } from '../../model/metric-spec.ts'
import type { Metrics } from '../../observe/index.ts'

export type ScalingAction = 'scale_down' | 'scale_up' | 'none'
type ScalingError = 'spec' | 'internal' | 'none'
const metricTypes = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource', 'other'] as const

export interface AutoscalerMetrics {
  observeReconciliation(action: ScalingAction, error: ScalingError, durationMs: number): void
  /** `type` is that of the metric in the autoscaler's spec. */
  observeMetric(type: string, action: ScalingAction, error: ScalingError, durationMs: number): void
}

const labels = { action: ['scale_down', 'scale_up', 'none'], error: ['spec', 'internal', 'none'] } as const
const typed = { ...labels, metric_type: metricTypes } as const
const buckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

/** The metrics of the autoscaling controller, as kube-controller-manager names them. */
export const autoscalerMetrics = {
  reconciliations: {
    type: 'counter',
    name: 'horizontal_pod_autoscaler_controller_reconciliations_total',
    help: 'Passes over an autoscaler, by what was done and the kind of error.',
    labels,
  },
  reconciliationTime: {
    type: 'histogram',
    name: 'horizontal_pod_autoscaler_controller_reconciliation_duration_seconds',
    help: 'How long a pass over an autoscaler takes, in seconds.',
    labels,
    buckets,
  },
  computations: {
    type: 'counter',
    name: 'horizontal_pod_autoscaler_controller_metric_computation_total',
    help: 'Computations of the replicas that one metric asks for.',
    labels: typed,
  },
  computationTime: {
    type: 'histogram',
    name: 'horizontal_pod_autoscaler_controller_metric_computation_duration_seconds',
    help: 'How long the figures of a metric and its computation take, in seconds.',
    labels: typed,
    buckets,
  },
} as const satisfies Record<string, MetricSpec>

export function createAutoscalerMetrics(metrics: Metrics): AutoscalerMetrics {
  const reconciliations = metrics.counter(autoscalerMetrics.reconciliations)
  const reconciliationTime = metrics.histogram(autoscalerMetrics.reconciliationTime)
  const computations = metrics.counter(autoscalerMetrics.computations)
  const computationTime = metrics.histogram(autoscalerMetrics.computationTime)
  const typeOf = (type: string) => metricTypes.find((known) => known === type) ?? 'other'
  return {
    observeReconciliation: (action, error, durationMs) => {
      reconciliations.add(1, { action, error })
      reconciliationTime.observe(durationMs / 1000, { action, error })
    },
    observeMetric: (type, action, error, durationMs) => {
      const values = { action, error, metric_type: typeOf(type) }
      computations.add(1, values)
      computationTime.observe(durationMs / 1000, values)
    },
  }
}
