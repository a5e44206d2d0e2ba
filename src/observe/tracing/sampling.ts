import type { TraceContext } from './trace-context.ts'

/** Which traces are exported: plain data, so that threads and other programs can decide alike. */
export interface Sampling {
  /** The share of traces that begin here and are exported, 0 to 1. */
  readonly ratio: number
  /** Whether a trace that began elsewhere keeps the decision that was made there. */
  readonly followsParent: boolean
}

/** How many of the trace ID's last digits decide; 13 are exact in a number. */
const decidingDigits = 13

/** Decides by the trace ID, so that every process with the same ratio decides alike. */
export function isSampled(
  { ratio, followsParent }: Sampling,
  traceId: string,
  parent: TraceContext | undefined,
): boolean {
  if (parent !== undefined && followsParent) return parent.isSampled
  if (ratio >= 1) return true
  if (ratio <= 0) return false
  return Number.parseInt(traceId.slice(-decidingDigits), 16) < ratio * 16 ** decidingDigits
}
