import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { jsonSchemaMessages, schemaUnions } from '../schema/json-schema-messages.ts'
import { kindTables, type Message, type MessageField, messageOf } from '../schema/kind-tables.ts'
import { badRequest } from '../status.ts'
import { parseJsonBody } from './json-text.ts'
import { malformed, readWireFields, type WireField } from './protobuf-wire.ts'

/** The prefix of every protobuf object of Kubernetes: `k8s` and a zero byte. */
const magic = Buffer.from('k8s\0', 'latin1')

/**
 * Returns the object in a body of type `application/vnd.kubernetes.protobuf`, in the form of its JSON: a `runtime.Unknown` that names the kind
 * and holds its message. Only built-in kinds have one. Unknown fields are skipped, as protobuf requires. Throws a 400 that names the error.
 */
export function parseProtobufBody(bytes: Uint8Array): Json {
  if (!magic.equals(bytes.subarray(0, magic.length))) throw malformed('it does not start with k8s and a zero byte')
  const { apiVersion, kind, raw, contentType } = readEnvelope(bytes.subarray(magic.length))
  if (contentType === 'application/json') return parseJsonBody(raw)
  const [version = '', group = ''] = apiVersion.split('/').toReversed()
  const message = messageOf(group, version, kind) ?? messageOf('meta', 'v1', kind)
  if (message === undefined) {
    throw badRequest(
      `${kind} of ${apiVersion} cannot be read as protobuf, only as application/json or application/yaml`,
    )
  }
  return { kind, apiVersion, ...decodeMessage(kindTables.messages[message], raw, 0) }
}

interface Envelope {
  readonly apiVersion: string
  readonly kind: string
  readonly raw: Uint8Array
  readonly contentType: string
}

/** Reads runtime.Unknown: typeMeta = 1 (apiVersion = 1, kind = 2), raw = 2, contentEncoding = 3, contentType = 4. */
function readEnvelope(bytes: Uint8Array): Envelope {
  const fields = bytesByNumber(bytes)
  const typeMeta = bytesByNumber(fields.get(1) ?? new Uint8Array())
  if (fields.get(3)?.length) throw malformed('its content is encoded once more')
  const textOf = (value: Uint8Array | undefined) => (value === undefined ? '' : decodeUtf8(value))
  return {
    apiVersion: textOf(typeMeta.get(1)),
    kind: textOf(typeMeta.get(2)),
    raw: fields.get(2) ?? new Uint8Array(),
    contentType: textOf(fields.get(4)),
  }
}

function bytesByNumber(bytes: Uint8Array): ReadonlyMap<number, Uint8Array> {
  return new Map([...readWireFields(bytes)].map((field) => [field.number, bytesOf(field, 'the envelope')]))
}

/** The depth limit, equal to that of JSON. Only JSON schemas are recursive; the other messages are a few levels deep. */
const maxDepth = 1_000

function decodeMessage(message: Message | undefined, bytes: Uint8Array, depth: number): JsonObject {
  if (depth > maxDepth) throw malformed(`it has more than ${maxDepth} levels`)
  const fields = message?.fields ?? []
  const parts: MessageParts = { values: new Map(), lists: new Map(), maps: new Map() }
  for (const wire of readWireFields(bytes)) {
    const field = fields.find(({ number }) => number === wire.number)
    if (field !== undefined) addField(parts, field, wire, depth + 1)
  }
  const maps = [...parts.maps].map(([key, entries]) => [key, Object.fromEntries(entries)] as const)
  return Object.fromEntries([...parts.values, ...parts.lists, ...maps])
}

/** A partly read message: repeated fields and map entries come one by one. */
interface MessageParts {
  readonly values: Map<string, Json>
  readonly lists: Map<string, Json[]>
  readonly maps: Map<string, [string, Json][]>
}

function addField({ values, lists, maps }: MessageParts, field: MessageField, wire: WireField, depth: number): void {
  if (field.map === true) {
    listIn(maps, field.name).push(decodeEntry(field, wire, depth))
    return
  }
  const value = decodeValue(field, wire, depth)
  if (field.repeated === true) listIn(lists, field.name).push(value)
  else if (field.inline === true && isJsonObject(value)) {
    for (const [key, inner] of Object.entries(value)) values.set(key, inner ?? null)
  } else if (value !== null && (keepsZero(field) || !isZero(value))) values.set(field.name, value)
}

function listIn<T>(lists: Map<string, T[]>, name: string): T[] {
  const list = lists.get(name) ?? []
  lists.set(name, list)
  return list
}

/** Checks whether a zero is a value, not an absent field. A number or text is a message of its own: it was given. */
function keepsZero({ keepsZero, required, type }: MessageField): boolean {
  return keepsZero === true || required === true || type === 'int-or-string'
}

function isZero(value: Json): boolean {
  return value === '' || value === 0 || value === false
}

/** Decodes a map entry, a message of its own: key = 1, value = 2; an absent one is empty. */
function decodeEntry(field: MessageField, wire: WireField, depth: number): [string, Json] {
  const parts = new Map([...readWireFields(bytesOf(wire, field.name))].map((part) => [part.number, part]))
  const key = parts.get(1)
  const empty: WireField = { number: 2, type: 'bytes', value: new Uint8Array() }
  const name = key === undefined ? '' : decodeUtf8(bytesOf(key, field.name))
  return [name, decodeValue(field, parts.get(2) ?? empty, depth)]
}

type Decode = (wire: WireField, where: string) => Json

/** Decodes a value; null for a value that JSON leaves out: a time that was never set. */
function decodeValue({ type, name }: MessageField, wire: WireField, depth: number): Json {
  const decode = decoders[type]
  if (decode !== undefined) return decode(wire, name)
  const union = schemaUnions[type]
  if (union !== undefined) return decodeUnion(type, decodeMessage(union, bytesOf(wire, name), depth))
  return decodeMessage(jsonSchemaMessages[type] ?? kindTables.messages[type], bytesOf(wire, name), depth)
}

/** Returns the JSON form of a union, a message of two fields. */
function decodeUnion(type: string, { schema, other }: JsonObject): Json {
  return schema ?? other ?? (type === 'schema-or-boolean' ? false : [])
}

/** The decoders of protobuf scalars, and of the messages whose JSON is not an object of their fields. */
const decoders: Readonly<Record<string, Decode>> = {
  string: (wire, where) => decodeUtf8(bytesOf(wire, where)),
  bytes: (wire, where) => Buffer.from(bytesOf(wire, where)).toString('base64'),
  bool: (wire, where) => integerOf(wire, where) !== 0n,
  int32: (wire, where) => Number(BigInt.asIntN(32, integerOf(wire, where))),
  int64: int64Of,
  time: (wire, where) => timeOf(wire, where, 0),
  'micro-time': (wire, where) => timeOf(wire, where, 6),
  duration: durationOf,
  quantity: (wire, where) => textsOf(wire, where, 1).at(-1) ?? '0',
  'string-list': (wire, where) => textsOf(wire, where, 1),
  'int-or-string': intOrStringOf,
  double: doubleOf,
  'raw-object': (wire, where) => {
    const raw = bytesByNumber(bytesOf(wire, where)).get(1)
    return raw === undefined || raw.length === 0 ? null : parseJsonBody(raw)
  },
  'raw-json': (wire, where) => parseJsonBody(bytesByNumber(bytesOf(wire, where)).get(1) ?? Buffer.from('null')),
}

function doubleOf({ value, type }: WireField, where: string): number {
  if (typeof value !== 'bigint' || type !== 'fixed64') throw malformed(`${where}: expected a number of 8 bytes`)
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, value)
  const number = view.getFloat64(0)
  if (!Number.isFinite(number)) throw malformed(`${where}: ${number} is no number of JSON`)
  return number
}

function int64Of(wire: WireField, where: string): number {
  const value = Number(BigInt.asIntN(64, integerOf(wire, where)))
  if (!Number.isSafeInteger(value)) throw malformed(`${where}: ${value} is out of range`)
  return value
}

function intOrStringOf(wire: WireField, where: string): Json {
  const fields = new Map([...readWireFields(bytesOf(wire, where))].map((field) => [field.number, field]))
  const [type, number, string] = [fields.get(1), fields.get(2), fields.get(3)]
  const isString = type !== undefined && integerOf(type, where) === 1n
  if (isString) return string === undefined ? '' : decodeUtf8(bytesOf(string, where))
  return number === undefined ? 0 : Number(BigInt.asIntN(32, integerOf(number, where)))
}

/** Decodes a time (seconds = 1, nanoseconds = 2) as RFC 3339 with that many fraction digits; null for the zero time, which has no fields. */
function timeOf(wire: WireField, where: string, digits: number): string | null {
  const fields = new Map([...readWireFields(bytesOf(wire, where))].map((field) => [field.number, field]))
  const seconds = fields.get(1)
  if (seconds === undefined) return null
  const nanos = fields.get(2)
  const time = new Date(int64Of(seconds, where) * 1000)
  if (Number.isNaN(time.getTime())) throw malformed(`${where}: not a time`)
  const fraction = String(nanos === undefined ? 0 : int64Of(nanos, where)).padStart(9, '0')
  return time.toISOString().replace(/\.\d+Z$/, digits === 0 ? 'Z' : `.${fraction.slice(0, digits)}Z`)
}

/** Decodes a duration (nanoseconds = 1) as seconds. */
function durationOf(wire: WireField, where: string): string {
  const nanos = [...readWireFields(bytesOf(wire, where))].find(({ number }) => number === 1)
  return `${nanos === undefined ? 0 : int64Of(nanos, where) / 1e9}s`
}

function textsOf(wire: WireField, where: string, number: number): string[] {
  const fields = [...readWireFields(bytesOf(wire, where))].filter((field) => field.number === number)
  return fields.map((field) => decodeUtf8(bytesOf(field, where)))
}

function bytesOf({ value }: WireField, where: string): Uint8Array {
  if (typeof value === 'bigint') throw malformed(`${where}: expected bytes, found a number`)
  return value
}

function integerOf({ value }: WireField, where: string): bigint {
  if (typeof value !== 'bigint') throw malformed(`${where}: expected a number, found bytes`)
  return value
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (thrown) {
    throw malformed('a text is not UTF-8', thrown)
  }
}
