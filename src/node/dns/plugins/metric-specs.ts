import type { MetricSpec } from '../../../model/metric-spec.ts'
import { cacheMetrics } from './cache/metrics.ts'
import { forwardMetrics } from './forward/metrics.ts'
import { healthMetrics } from './health/metrics.ts'
import { hostsMetrics } from './hosts/metrics.ts'
import { kubernetesMetrics } from './kubernetes/metrics.ts'
import { loopMetrics } from './loop/metrics.ts'
import { requestMetrics } from './prometheus/metrics.ts'
import { reloadMetrics } from './reload/metrics.ts'
import { templateMetrics } from './template/metrics.ts'

/** Lists the metrics of all plugins. */
export const pluginMetrics: readonly MetricSpec[] = [
  ...cacheMetrics,
  ...forwardMetrics,
  ...healthMetrics,
  ...hostsMetrics,
  ...kubernetesMetrics,
  ...loopMetrics,
  ...requestMetrics,
  ...reloadMetrics,
  ...templateMetrics,
]
