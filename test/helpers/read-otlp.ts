import assert from 'node:assert/strict'

/** A span as a collector sees it. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for a root. */
  readonly parentSpanId: string
  readonly name: string
  /** The number of the protocol: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number
  /** Nanoseconds since 1970. */
  readonly startNs: bigint
  readonly endNs: bigint
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  /** 2 is an error. */
  readonly statusCode: number
  readonly statusMessage: string
  /** `service.name` of the resource. */
  readonly service: string
  readonly resource: Readonly<Record<string, string | number | boolean>>
}

type Fields = ReadonlyMap<number, readonly (bigint | Buffer)[]>

const none: Fields = new Map()

/** Reads the fields of a Protobuf message by the wire format alone; throws at bytes that are no message. */
function readFields(bytes: Buffer): Fields {
  const fields = new Map<number, (bigint | Buffer)[]>()
  let at = 0
  const varint = (): bigint => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]
      assert.ok(byte !== undefined && shift < 70n, 'a number that does not end')
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const take = (length: number): Buffer => {
    assert.ok(at + length <= bytes.length, 'a field that does not end')
    at += length
    return bytes.subarray(at - length, at)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const values = fields.get(tag >> 3) ?? []
    fields.set(tag >> 3, values)
    if ((tag & 7) === 0) values.push(varint())
    else if ((tag & 7) === 1) values.push(take(8).readBigUInt64LE())
    else if ((tag & 7) === 2) values.push(take(Number(varint())))
    else if ((tag & 7) === 5) values.push(BigInt(take(4).readUInt32LE()))
    else assert.fail(`wire type ${tag & 7}`)
  }
  return fields
}

const messages = (fields: Fields, number: number) => (fields.get(number) ?? []).map((each) => readFields(asBytes(each)))
const bytesOf = (fields: Fields, number: number) => asBytes(fields.get(number)?.[0] ?? Buffer.alloc(0))
const textOf = (fields: Fields, number: number) => bytesOf(fields, number).toString('utf8')
const hexOf = (fields: Fields, number: number) => bytesOf(fields, number).toString('hex')
const numberOf = (fields: Fields, number: number) => fields.get(number)?.[0] ?? 0n

function asBytes(value: bigint | Buffer): Buffer {
  assert.ok(Buffer.isBuffer(value), 'expected bytes')
  return value
}

function attributesOf(fields: Fields, number: number): CollectedSpan['attributes'] {
  return Object.fromEntries(
    messages(fields, number).map((pair) => {
      const [value = none] = messages(pair, 2)
      if (value.has(1)) return [textOf(pair, 1), textOf(value, 1)]
      if (value.has(2)) return [textOf(pair, 1), numberOf(value, 2) === 1n]
      if (value.has(3)) return [textOf(pair, 1), Number(numberOf(value, 3))]
      assert.ok(value.has(4), 'an attribute without a value')
      return [textOf(pair, 1), asDouble(numberOf(value, 4))]
    }),
  )
}

function asDouble(bits: bigint | Buffer): number {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt.asUintN(64, bits as bigint))
  return bytes.readDoubleLE()
}

/** Reads an ExportTraceServiceRequest (opentelemetry/proto/collector/trace/v1). */
export function readTraceRequest(body: Buffer): readonly CollectedSpan[] {
  return messages(readFields(body), 1).flatMap((resourceSpans) => {
    const resource = attributesOf(messages(resourceSpans, 1)[0] ?? none, 1)
    return messages(resourceSpans, 2).flatMap((scope) => messages(scope, 2).map((span) => readSpan(span, resource)))
  })
}

function readSpan(span: Fields, resource: CollectedSpan['resource']): CollectedSpan {
  const status = messages(span, 15)[0] ?? none
  return checked({
    traceId: hexOf(span, 1),
    spanId: hexOf(span, 2),
    parentSpanId: hexOf(span, 4),
    name: textOf(span, 5),
    kind: Number(numberOf(span, 6)),
    startNs: numberOf(span, 7) as bigint,
    endNs: numberOf(span, 8) as bigint,
    attributes: attributesOf(span, 9),
    links: messages(span, 13).map((link) => ({ traceId: hexOf(link, 1), spanId: hexOf(link, 2) })),
    statusCode: Number(numberOf(status, 3)),
    statusMessage: textOf(status, 2),
    service: String(resource['service.name']),
    resource,
  })
}

// biome-ignore lint/suspicious/noExplicitAny: the JSON form of the protocol, looked into field by field
type Json = any

/** Reads the JSON form of an ExportTraceServiceRequest. */
export function readTraceJson(text: string): readonly CollectedSpan[] {
  const request: Json = JSON.parse(text)
  return request.resourceSpans.flatMap((each: Json) => {
    const resource = jsonAttributes(each.resource.attributes)
    return each.scopeSpans.flatMap((scope: Json) => scope.spans.map((span: Json) => readJsonSpan(span, resource)))
  })
}

function readJsonSpan(span: Json, resource: CollectedSpan['resource']): CollectedSpan {
  return checked({
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: span.name,
    kind: span.kind,
    startNs: BigInt(span.startTimeUnixNano),
    endNs: BigInt(span.endTimeUnixNano),
    attributes: jsonAttributes(span.attributes),
    links: span.links.map(({ traceId, spanId }: Json) => ({ traceId, spanId })),
    statusCode: span.status.code ?? 0,
    statusMessage: span.status.message ?? '',
    service: String(resource['service.name']),
    resource,
  })
}

function jsonAttributes(pairs: Json): CollectedSpan['attributes'] {
  return Object.fromEntries(
    pairs.map(({ key, value }: Json) => [
      key,
      value.stringValue ?? value.boolValue ?? value.doubleValue ?? Number(value.intValue),
    ]),
  )
}

/** What the protocol demands of every span. */
function checked(span: CollectedSpan): CollectedSpan {
  assert.match(span.traceId, /^(?!0{32})[0-9a-f]{32}$/)
  assert.match(span.spanId, /^(?!0{16})[0-9a-f]{16}$/)
  assert.match(span.parentSpanId, /^((?!0{16})[0-9a-f]{16})?$/)
  assert.ok(span.endNs >= span.startNs && span.startNs > 0n, `${span.name} ends before it starts`)
  return span
}
