import type { Span, Tracer } from '../../../../observe/index.ts'
import { typeName } from '../../wire/codes.ts'
import { nameText } from '../../wire/name.ts'
import type { Query } from '../../wire/query.ts'

/** Starts the span of a query that leaves the node; its trace begins here, because DNS messages carry none. */
export function startQuerySpan(tracer: Tracer, { name, type }: Query): Span {
  const span = tracer.start('DNS query', { kind: 'client' })
  if (span.isRecorded) span.set({ 'dns.question.name': nameText(name), 'dns.question.type': typeName(type) })
  return span
}
