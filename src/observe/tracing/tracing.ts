import { hostname } from 'node:os'
import type { Component, Health } from '../../loop/component.ts'
import { readBuildInfo, versionText } from '../build-info.ts'
import type { Logger } from '../logger.ts'
import type { Metrics } from '../metrics.ts'
import { collectSpanCounts } from './metrics.ts'
import { createOtlpExporter } from './otlp-exporter.ts'
import { RecordingTracer } from './recording-tracer.ts'
import { readTracingSettings } from './settings.ts'
import { SpanQueue } from './span-queue.ts'
import type { Tracer } from './tracer.ts'

export interface TracingOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** The name of this service where the environment has none. */
  readonly serviceName: string
  readonly metrics: Metrics
  readonly log: Logger
}

/** The tracing of one process; a component, so that what waits is exported when the process stops. */
export interface Tracing extends Component {
  readonly tracer: Tracer
}

/** The longest time that a stop waits for the collector. */
const flushMs = 5000

/** Creates the tracer with the exporter that the environment names. The collector need not be there. */
export async function createTracing({ env, serviceName, metrics, log }: TracingOptions): Promise<Tracing> {
  const { settings, warnings } = readTracingSettings(env, { serviceName })
  for (const warning of warnings) log.warn(warning)
  const identity = {
    'host.name': hostname(),
    'process.pid': String(process.pid),
    'service.version': versionText(readBuildInfo()),
  }
  const exporter = await createOtlpExporter({ ...settings, resource: { ...identity, ...settings.resource } })
  const queue = new SpanQueue(exporter, settings.queue, log)
  collectSpanCounts(metrics, queue)
  log.info('spans are exported by OTLP', {
    protocol: settings.protocol,
    service: settings.serviceName,
    ...settings.sampling,
  })
  return new QueueTracing(new RecordingTracer(settings.sampling, queue), queue)
}

class QueueTracing implements Tracing {
  readonly name = 'tracing'
  readonly tracer: Tracer
  readonly #queue: SpanQueue

  constructor(tracer: Tracer, queue: SpanQueue) {
    this.tracer = tracer
    this.#queue = queue
  }

  async start(): Promise<void> {}

  async stop({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    await this.#queue.close(AbortSignal.any([signal, AbortSignal.timeout(flushMs)]))
  }

  /** A collector that is away does not make the process unwell. */
  health(): Health {
    const { exported, overflowed, refused } = this.#queue.counts
    return { level: 'ok', message: `${exported} spans exported, ${overflowed + refused} dropped`, sinceMs: 0 }
  }
}
