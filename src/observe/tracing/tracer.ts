import type { Sampling } from './sampling.ts'
import type { TraceContext } from './trace-context.ts'

export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>

/** How a span is connected with others, as OpenTelemetry names it. */
export type SpanKind = 'internal' | 'server' | 'client' | 'producer' | 'consumer'

export interface SpanOptions {
  readonly kind?: SpanKind
  /** Undefined: the trace begins here. */
  readonly parent?: TraceContext | undefined
  readonly attributes?: SpanAttributes
  /** Spans of other traces that led to this one as well. */
  readonly links?: readonly TraceContext[]
  /** Milliseconds since 1970, with fractions; by default now. */
  readonly startMs?: number
}

export interface SpanEnd {
  /** The failure; undefined for a success. */
  readonly error?: string | undefined
  /** Milliseconds since 1970, with fractions; by default now. */
  readonly endMs?: number
}

/** One step of a trace. Nothing here throws, and nothing waits. */
export interface Span {
  /** The context for the steps below this one; undefined where tracing is off. */
  readonly context: TraceContext | undefined
  /** Whether the span is exported: where it is not, no caller needs to gather attributes. */
  readonly isRecorded: boolean
  set(attributes: SpanAttributes): void
  child(name: string, options?: Omit<SpanOptions, 'parent'>): Span
  /** Ends the span; a second call does nothing. */
  end(end?: SpanEnd): void
}

/** A span that has ended, as plain data. */
export interface EndedSpan extends Required<Pick<SpanOptions, 'kind' | 'startMs' | 'links'>> {
  readonly name: string
  readonly context: TraceContext
  readonly parent: TraceContext | undefined
  readonly attributes: SpanAttributes
  readonly endMs: number
  readonly error: string | undefined
}

/** Takes spans that have ended. */
export interface SpanSink {
  /** Takes a span as it is; also one that another thread or program made. */
  add(span: EndedSpan): void
  /** Counts spans that were dropped before they came here. */
  drop(count: number): void
}

/** Makes the spans of one process. Code receives it like a logger. */
export interface Tracer extends SpanSink {
  /** False where nothing is exported. */
  readonly isOn: boolean
  readonly sampling: Sampling
  start(name: string, options?: SpanOptions): Span
  /** Milliseconds since 1970, with fractions. */
  nowMs(): number
}

/** The span of which nothing is kept. */
export const silentSpan: Span = {
  context: undefined,
  isRecorded: false,
  set: () => {},
  child: () => silentSpan,
  end: () => {},
}

/** The tracer while tracing is off. */
export const silentTracer: Tracer = {
  isOn: false,
  sampling: { ratio: 0, followsParent: false },
  start: () => silentSpan,
  add: () => {},
  drop: () => {},
  nowMs: () => Date.now(),
}
