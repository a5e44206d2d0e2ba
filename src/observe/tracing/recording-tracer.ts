import { isSampled, type Sampling } from './sampling.ts'
import { newSpanId, newTraceId } from './span-ids.ts'
import type { TraceContext } from './trace-context.ts'
import type { EndedSpan, Span, SpanAttributes, SpanEnd, SpanOptions, SpanSink, Tracer } from './tracer.ts'

/** The longest text of an attribute, in UTF-16 units: some come from outside, such as a User-Agent. */
const maxTextLength = 256
/** The clock of the machine was set where it and ours differ by more. */
const maxDriftMs = 2

/** Makes spans and hands the exported ones on when they end. */
export class RecordingTracer implements Tracer {
  readonly isOn = true
  readonly sampling: Sampling
  readonly #sink: SpanSink
  #originMs = performance.timeOrigin

  constructor(sampling: Sampling, sink: SpanSink) {
    this.sampling = sampling
    this.#sink = sink
  }

  start(name: string, options: SpanOptions = {}): Span {
    const { parent } = options
    const traceId = parent?.traceId ?? newTraceId()
    const isKept = isSampled(this.sampling, traceId, parent)
    const context = { traceId, spanId: newSpanId(), isSampled: isKept }
    return isKept ? new RecordedSpan(this, name, context, options) : new UnsampledSpan(context)
  }

  add(span: EndedSpan): void {
    this.#sink.add({ ...span, attributes: boundedAttributes(span.attributes) })
  }

  drop(count: number): void {
    this.#sink.drop(count)
  }

  /** The monotonic clock has microseconds; the machine's own decides which time it is. */
  nowMs(): number {
    const driftMs = Date.now() - this.#originMs - performance.now()
    if (Math.abs(driftMs) > maxDriftMs) this.#originMs += driftMs
    return this.#originMs + performance.now()
  }
}

class RecordedSpan implements Span {
  readonly context: TraceContext
  readonly #tracer: Tracer
  readonly #name: string
  readonly #options: SpanOptions
  readonly #startMs: number
  #attributes: SpanAttributes
  #isEnded = false

  constructor(tracer: Tracer, name: string, context: TraceContext, options: SpanOptions) {
    this.context = context
    this.#tracer = tracer
    this.#name = name
    this.#options = options
    this.#attributes = options.attributes ?? {}
    this.#startMs = options.startMs ?? tracer.nowMs()
  }

  get isRecorded(): boolean {
    return !this.#isEnded
  }

  set(attributes: SpanAttributes): void {
    this.#attributes = { ...this.#attributes, ...attributes }
  }

  child(name: string, options: Omit<SpanOptions, 'parent'> = {}): Span {
    const context = { ...this.context, spanId: newSpanId() }
    return new RecordedSpan(this.#tracer, name, context, { ...options, parent: this.context })
  }

  end({ error, endMs = this.#tracer.nowMs() }: SpanEnd = {}): void {
    if (this.#isEnded) return
    this.#isEnded = true
    const { kind = 'internal', parent, links = [] } = this.#options
    this.#tracer.add({
      name: this.#name,
      kind,
      context: this.context,
      parent,
      links,
      attributes: this.#attributes,
      startMs: this.#startMs,
      endMs: Math.max(endMs, this.#startMs),
      error: error === undefined ? undefined : boundText(error),
    })
  }
}

/** Carries the decision on: no span below it is exported either. */
class UnsampledSpan implements Span {
  readonly isRecorded = false
  readonly context: TraceContext

  constructor(context: TraceContext) {
    this.context = context
  }

  set(): void {}

  child(): Span {
    return this
  }

  end(): void {}
}

function boundedAttributes(attributes: SpanAttributes): SpanAttributes {
  const entries = Object.entries(attributes).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries.map(([key, value]) => [key, typeof value === 'string' ? boundText(value) : value]))
}

/** Text from outside may end within a character; Protobuf takes whole ones only. */
function boundText(text: string): string {
  return text.slice(0, maxTextLength).toWellFormed()
}
