/** The place of a span in its trace (W3C Trace Context, level 2), as it goes from one process to the next. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string
  /** 16 lower-case hexadecimal digits, not all zero. */
  readonly spanId: string
  /** Whether the spans of this trace are exported. */
  readonly isSampled: boolean
}

/** Version 00 has exactly four fields; later versions may append more (section 3.2.2.5). Version ff is invalid. */
const form =
  /^(?:00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})|(?!00|ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?)$/

/** The longest text that is looked at: a longer one can only be of a version that does not exist yet. */
const maxLength = 256

const sampledFlag = 1

/** Reads the value of a `traceparent` header; undefined where it is absent, sent twice or unsound: the trace then begins here. */
export function parseTraceparent(value: string | readonly string[] | undefined): TraceContext | undefined {
  if (typeof value !== 'string' || value.length > maxLength) return undefined
  const match = form.exec(value)
  if (match === null) return undefined
  const [traceId = '', spanId = '', flags = ''] = match.slice(1).filter((part) => part !== undefined)
  return { traceId, spanId, isSampled: (Number.parseInt(flags, 16) & sampledFlag) !== 0 }
}

/** Renders the value of a `traceparent` header, version 00. */
export function formatTraceparent({ traceId, spanId, isSampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`
}
