import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { numberOf } from '../exact-json.ts'
import { jsonSchemaMessages, schemaUnions } from '../schema/json-schema-messages.ts'
import { kindTables, type Message, type MessageField, messageOf } from '../schema/kind-tables.ts'
import { bytesField, doubleBytes, varint, type WireType, writeField } from './protobuf-writer.ts'

const magic = Buffer.from('k8s\0', 'latin1')

interface TypeMeta {
  readonly group: string
  readonly version: string
  readonly kind: string
}

/**
 * Encodes an object of a built-in kind, or a list of them, as Kubernetes does: `k8s`, a zero byte, and a `runtime.Unknown`. Returns undefined
 * for a kind without a message, such as a custom resource.
 */
export function toProtobuf({ group, version, kind }: TypeMeta, value: JsonObject): Uint8Array | undefined {
  const message = findMessage(group, version, kind)
  if (message === undefined) return undefined
  const apiVersion = group === '' ? version : `${group}/${version}`
  const typeMeta = Buffer.concat([...bytesField(1, apiVersion), ...bytesField(2, kind)])
  return Buffer.concat([magic, ...bytesField(1, typeMeta), ...bytesField(2, writeMessage(message, value))])
}

/** Returns the message of a kind. All kinds share one form of list: metadata and items. */
function findMessage(group: string, version: string, kind: string): Message | undefined {
  const name = messageOf(group, version, kind) ?? messageOf('meta', version, kind)
  if (name !== undefined) return kindTables.messages[name]
  const item = kind.endsWith('List') ? messageOf(group, version, kind.slice(0, -'List'.length)) : undefined
  if (item === undefined) return undefined
  const metadata: MessageField = { name: 'metadata', number: 1, type: 'meta.v1.ListMeta' }
  return { fields: [metadata, { name: 'items', number: 2, type: item, repeated: true }] }
}

function writeMessage({ fields }: Message, value: JsonObject): Uint8Array {
  return Buffer.concat(fields.flatMap((field) => writeMember(field, value)))
}

function writeMember(field: MessageField, object: JsonObject): readonly Uint8Array[] {
  if (field.inline === true) return writeValue(field, object)
  const value = Object.hasOwn(object, field.name) ? object[field.name] : undefined
  if (value === undefined || value === null) return []
  if (field.map === true) return entriesOf(value).flatMap((entry) => bytesField(field.number, writeEntry(field, entry)))
  if (field.repeated === true) return Array.isArray(value) ? value.flatMap((item: Json) => writeValue(field, item)) : []
  return writeValue(field, value)
}

function entriesOf(value: Json): readonly (readonly [string, Json])[] {
  return Object.entries(isJsonObject(value) ? value : {}).map(([key, item]) => [key, item ?? null])
}

/** Encodes a map entry, a message of its own: key = 1, value = 2. */
function writeEntry({ type, name }: MessageField, [key, value]: readonly [string, Json]): Uint8Array {
  return Buffer.concat([...bytesField(1, key), ...writeValue({ number: 2, type, name }, value)])
}

function writeValue({ number, type }: MessageField, value: Json): readonly Uint8Array[] {
  const scalar = scalars[type]
  if (scalar !== undefined) return writeField(number, scalar.wireType, scalar.write(value))
  const union = schemaUnions[type]
  if (union !== undefined) return bytesField(number, writeMessage(union, toUnion(value)))
  const message = jsonSchemaMessages[type] ?? kindTables.messages[type]
  return message === undefined || !isJsonObject(value) ? [] : bytesField(number, writeMessage(message, value))
}

/** Returns the message of a union: a schema, or its alternative. */
function toUnion(value: Json): JsonObject {
  return isJsonObject(value) ? { schema: value, other: true } : { other: value }
}

interface Scalar {
  readonly wireType: WireType
  readonly write: (value: Json) => Uint8Array
}

const text = (write: (value: string) => Uint8Array): Scalar => ({ wireType: 2, write: (value) => write(String(value)) })
const integer: Scalar = { wireType: 0, write: (value) => varint(Math.trunc(numberOf(value) ?? 0)) }
const time = text((value) => {
  const [, seconds = value, fraction = ''] = /^(.*?)\.(\d+)Z$/.exec(value) ?? []
  const ms = Date.parse(fraction === '' ? seconds : `${seconds}Z`)
  const nanos = Number(fraction.padEnd(9, '0').slice(0, 9))
  return Buffer.concat([...writeField(1, 0, varint(Math.floor(ms / 1000))), ...writeField(2, 0, varint(nanos))])
})
const json: Scalar = { wireType: 2, write: (value) => Buffer.concat(bytesField(1, JSON.stringify(value))) }

/** The encoders of protobuf scalars, and of the messages whose JSON is not an object of their fields. */
const scalars: Readonly<Record<string, Scalar>> = {
  string: text((value) => Buffer.from(value)),
  bytes: text((value) => Buffer.from(value, 'base64')),
  bool: { wireType: 0, write: (value) => varint(value === true ? 1 : 0) },
  int32: integer,
  int64: integer,
  double: { wireType: 1, write: (value) => doubleBytes(numberOf(value) ?? 0) },
  time,
  'micro-time': time,
  duration: text((value) => Buffer.concat(writeField(1, 0, varint(Math.round(Number.parseFloat(value) * 1e9))))),
  quantity: text((value) => Buffer.concat(bytesField(1, value))),
  'string-list': {
    wireType: 2,
    write: (value) =>
      Buffer.concat(Array.isArray(value) ? value.flatMap((item: Json) => bytesField(1, String(item))) : []),
  },
  'int-or-string': {
    wireType: 2,
    write: (value) =>
      typeof value === 'string'
        ? Buffer.concat([...writeField(1, 0, varint(1)), ...bytesField(3, value)])
        : Buffer.concat([...writeField(1, 0, varint(0)), ...writeField(2, 0, integer.write(value))]),
  },
  'raw-object': json,
  'raw-json': json,
}
