import type { HrTime } from '@opentelemetry/api'
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc'
import type { OtlpProtocol, TracingSettings } from './settings.ts'
import type { SpanExporter } from './span-queue.ts'
import type { TraceContext } from './trace-context.ts'
import type { EndedSpan, SpanKind } from './tracer.ts'

/** The exporters of all protocols have this form. */
type Library = Pick<OTLPTraceExporter, 'export' | 'shutdown'>
type ReadableSpan = Parameters<Library['export']>[0][number]
type Resource = ReadableSpan['resource']

/** The numbers of OpenTelemetry's SpanKind. */
const kinds: Readonly<Record<SpanKind, number>> = { internal: 0, server: 1, client: 2, producer: 3, consumer: 4 }
/** The numbers of OpenTelemetry's SpanStatusCode. */
const statusCodes = { unset: 0, error: 2 } as const
const scope = { name: 'platnet' }

/**
 * Creates an exporter. The library for the protocol is loaded now: some 20 MB that a process without tracing does not need. It reads the
 * endpoint, headers, time limit, compression and certificates from the environment variables of its specification.
 */
export async function createOtlpExporter({ protocol, serviceName, resource }: TracingSettings): Promise<SpanExporter> {
  const [library, { resourceFromAttributes }] = await Promise.all([
    createLibrary(protocol),
    import('@opentelemetry/resources'),
  ])
  return new OtlpExporter(library, resourceFromAttributes({ ...resource, 'service.name': serviceName }))
}

async function createLibrary(protocol: OtlpProtocol): Promise<Library> {
  switch (protocol) {
    case 'grpc':
      return new (await import('@opentelemetry/exporter-trace-otlp-grpc')).OTLPTraceExporter()
    case 'http/protobuf':
      return new (await import('@opentelemetry/exporter-trace-otlp-proto')).OTLPTraceExporter()
    case 'http/json':
      return new (await import('@opentelemetry/exporter-trace-otlp-http')).OTLPTraceExporter()
  }
}

class OtlpExporter implements SpanExporter {
  readonly #library: Library
  readonly #resource: Resource

  constructor(library: Library, resource: Resource) {
    this.#library = library
    this.#resource = resource
  }

  export(spans: readonly EndedSpan[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const readable = spans.map((span) => toReadableSpan(span, this.#resource))
      this.#library.export(readable, ({ error, code }) => {
        if (code === 0) resolve()
        else reject(error ?? new Error('the collector did not take the spans'))
      })
    })
  }

  close(): Promise<void> {
    return this.#library.shutdown()
  }
}

function toReadableSpan(span: EndedSpan, resource: Resource): ReadableSpan {
  const { name, context, parent, attributes, links, startMs, endMs, error } = span
  return {
    name,
    kind: kinds[span.kind],
    spanContext: () => toSpanContext(context, false),
    ...(parent && { parentSpanContext: toSpanContext(parent, true) }),
    startTime: toHrTime(startMs),
    endTime: toHrTime(endMs),
    duration: toHrTime(endMs - startMs),
    status: error === undefined ? { code: statusCodes.unset } : { code: statusCodes.error, message: error },
    attributes: { ...attributes },
    links: links.map((link) => ({ context: toSpanContext(link, true) })),
    events: [],
    ended: true,
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

function toSpanContext({ traceId, spanId, isSampled }: TraceContext, isRemote: boolean) {
  return { traceId, spanId, traceFlags: isSampled ? 1 : 0, isRemote }
}

/** Seconds and nanoseconds. */
function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.min(999_999_999, Math.round((ms - seconds * 1000) * 1e6))]
}
