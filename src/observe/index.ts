export type { FilterProblem } from './filter.ts'
export { answerHealth, type HealthAnswer, type HealthEndpoint, type HealthRequest } from './health.ts'
export { chooseFormat, type LogFormat, type LogOutput } from './log-format.ts'
export { type LogFields, type Logger, type LogLevel, silentLogger } from './logger.ts'
export { createLogging, type Logging, type LoggingOptions } from './logging.ts'
export {
  type CounterMetric,
  createMetrics,
  type GaugeMetric,
  type GaugeSample,
  type HistogramMetric,
  type MetricSpec,
  type Metrics,
} from './metrics.ts'
export { redactText } from './redact.ts'
