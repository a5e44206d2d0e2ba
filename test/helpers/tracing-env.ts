import { createMetrics, type Metrics } from '../../src/observe/index.ts'
import { createTracing, type Tracing } from '../../src/observe/tracing/tracing.ts'
import { createRecordingLogger } from './recording-logger.ts'

export interface TestTracing {
  readonly tracing: Tracing
  readonly metrics: Metrics
  readonly lines: readonly string[]
}

/** Tracing as a process has it with these variables; the exporters of OpenTelemetry read them from the process itself. */
export async function startTestTracing(variables: Readonly<Record<string, string>>): Promise<TestTracing> {
  for (const name of Object.keys(process.env)) if (name.startsWith('OTEL_')) delete process.env[name]
  Object.assign(process.env, { OTEL_BSP_SCHEDULE_DELAY: '1', ...variables })
  const metrics = createMetrics()
  const { log, lines } = createRecordingLogger()
  const tracing = await createTracing({ env: process.env, serviceName: 'platnet-test', metrics, log })
  return { tracing, metrics, lines }
}
