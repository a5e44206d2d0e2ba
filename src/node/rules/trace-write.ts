import type { Span, Tracer } from '../../observe/index.ts'
import type { WriteReport } from './reports.ts'

/** Adds the time in which the kernel took a write as a step below the span. */
export function traceWrite(tracer: Tracer, span: Span, report: WriteReport): void {
  const { kernel, restores, chainsSet, chainsRemoved, bytes, sets, elements } = report
  if (!span.isRecorded || kernel === undefined) return
  const originMs = tracer.nowMs() - performance.now()
  const attributes = {
    'platnet.restores': restores,
    'platnet.chains_set': chainsSet,
    'platnet.chains_removed': chainsRemoved,
    'platnet.bytes': bytes,
    'platnet.set_members_added': sets?.added,
    'platnet.set_members_removed': sets?.removed,
    'platnet.elements_added': elements?.added,
    'platnet.elements_removed': elements?.removed,
  }
  const name = elements !== undefined ? 'nft' : restores > 0 ? 'iptables-restore' : 'ipset restore'
  span.child(name, { startMs: originMs + kernel.fromMs, attributes }).end({ endMs: originMs + kernel.toMs })
}
