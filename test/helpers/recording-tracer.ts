import { RecordingTracer } from '../../src/observe/tracing/recording-tracer.ts'
import type { Sampling } from '../../src/observe/tracing/sampling.ts'
import type { EndedSpan } from '../../src/observe/tracing/tracer.ts'

/** A tracer whose spans the test looks at. */
export function createRecordingTracer(sampling: Sampling = { ratio: 1, followsParent: true }): {
  readonly tracer: RecordingTracer
  readonly spans: EndedSpan[]
} {
  const spans: EndedSpan[] = []
  return { tracer: new RecordingTracer(sampling, { add: (span) => void spans.push(span), drop: () => {} }), spans }
}
