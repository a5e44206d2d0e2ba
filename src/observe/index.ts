export { type BuildInfo, readBuildInfo, versionText } from './build-info.ts'
export { answerHealth, type HealthCheck, type HealthEndpoint, type HealthRequest } from './health.ts'
export { chooseFormat, type LogFormat } from './log-format.ts'
export { type Logger, silentLogger } from './logger.ts'
export { createLogging, type Logging } from './logging.ts'
export { createMetrics, type MetricSample, type Metrics } from './metrics.ts'
export { type MetricGroup, metricsTable } from './metrics-table.ts'
export { observeOptions } from './options.ts'
export { buildMetric, processMetrics } from './process-metrics.ts'
export { redactText, redactWhole } from './redact.ts'
export { tracingMetrics } from './tracing/metrics.ts'
export { PendingTraces } from './tracing/pending-traces.ts'
export type { Sampling } from './tracing/sampling.ts'
export { findEndpointProblem, wantsTracing } from './tracing/settings.ts'
export { startShared } from './tracing/shared-span.ts'
export { formatTraceparent, parseTraceparent, type TraceContext } from './tracing/trace-context.ts'
export {
  type EndedSpan,
  type Span,
  type SpanAttributes,
  type SpanSink,
  silentSpan,
  silentTracer,
  type Tracer,
} from './tracing/tracer.ts'
