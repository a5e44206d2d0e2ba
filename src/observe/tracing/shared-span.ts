import { newSpanId } from './span-ids.ts'
import type { TraceContext } from './trace-context.ts'
import type { Span, SpanAttributes, SpanEnd, SpanOptions, Tracer } from './tracer.ts'

/** The number of traces that one step is shown in. */
export const maxSharedTraces = 32

/**
 * Starts one step that several traces led to, such as one write of many changes. It is a child of the first context; each other trace gets
 * a span of the same name and time, and both link to each other. Without contexts the trace begins here. `contexts`: of sampled spans.
 */
export function startShared(
  tracer: Tracer,
  name: string,
  contexts: readonly TraceContext[],
  options: Omit<SpanOptions, 'parent' | 'links' | 'startMs'> = {},
): Span {
  const [first, ...others] = contexts.slice(0, maxSharedTraces)
  if (others.length === 0) return tracer.start(name, { ...options, parent: first })
  const startMs = tracer.nowMs()
  const main = tracer.start(name, { ...options, parent: first, links: others, startMs })
  return main.isRecorded ? new SharedSpan({ tracer, name, main, others, startMs, options }) : main
}

interface SharedParts {
  readonly tracer: Tracer
  readonly name: string
  readonly main: Span
  readonly others: readonly TraceContext[]
  readonly startMs: number
  readonly options: Omit<SpanOptions, 'parent' | 'links' | 'startMs'>
}

class SharedSpan implements Span {
  readonly #parts: SharedParts
  #attributes: SpanAttributes

  constructor(parts: SharedParts) {
    this.#parts = parts
    this.#attributes = parts.options.attributes ?? {}
  }

  get context(): TraceContext | undefined {
    return this.#parts.main.context
  }

  get isRecorded(): boolean {
    return this.#parts.main.isRecorded
  }

  set(attributes: SpanAttributes): void {
    this.#attributes = { ...this.#attributes, ...attributes }
    this.#parts.main.set(attributes)
  }

  child(name: string, options?: Omit<SpanOptions, 'parent'>): Span {
    return this.#parts.main.child(name, options)
  }

  end({ error, endMs = this.#parts.tracer.nowMs() }: SpanEnd = {}): void {
    const { tracer, name, main, others, startMs, options } = this.#parts
    if (!main.isRecorded) return
    main.end({ error, endMs })
    const { kind = 'internal' } = options
    const shared = { name, kind, attributes: this.#attributes, startMs, endMs, error }
    const links = main.context === undefined ? [] : [main.context]
    for (const parent of others) tracer.add({ ...shared, parent, links, context: { ...parent, spanId: newSpanId() } })
  }
}
