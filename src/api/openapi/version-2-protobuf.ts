import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { doubleBytes, varint, type WireType, writeField } from '../encode/protobuf-writer.ts'
import { numberOf } from '../exact-json.ts'

/** Writes a value in the encoding that follows a field's tag. */
interface Form {
  readonly wireType: WireType
  readonly write: (value: Json) => Uint8Array
}

interface Field {
  readonly number: number
  readonly form: Form
}

type Fields = Readonly<Record<string, Field>>

function tagged({ number, form }: Field, value: Json): readonly Uint8Array[] {
  return writeField(number, form.wireType, form.write(value))
}

const text: Form = { wireType: 2, write: (value) => Buffer.from(String(value)) }
const boolean: Form = { wireType: 0, write: (value) => varint(value === true ? 1 : 0) }
const integer: Form = { wireType: 0, write: (value) => varint(Math.trunc(numberOf(value) ?? 0)) }
const number: Form = { wireType: 1, write: (value) => doubleBytes(numberOf(value) ?? 0) }
/** Writes `Any`: a value as YAML, which includes JSON. */
const any: Form = {
  wireType: 2,
  write: (value) => Buffer.concat(tagged({ number: 2, form: text }, JSON.stringify(value))),
}

function field(number: number, form: Form): Field {
  return { number, form }
}

/**
 * Returns the form of a message, by the JSON names of its fields. A list repeats its field; names that begin with `x-` go into the field of
 * extensions.
 */
function message(fields: Fields, extensions?: number): Form {
  const extension = extensions === undefined ? undefined : field(extensions, named(any))
  const writeMember = (name: string, value: Json): readonly Uint8Array[] => {
    const known = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (known !== undefined) return listOf(value).flatMap((item) => tagged(known, item))
    return extension !== undefined && name.startsWith('x-') ? tagged(extension, { [name]: value }) : []
  }
  const write = (value: Json) => Buffer.concat(entriesOf(value).flatMap(([name, item]) => writeMember(name, item)))
  return { wireType: 2, write }
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [value]
}

function entriesOf(value: Json): readonly (readonly [string, Json])[] {
  return Object.entries(isJsonObject(value) ? value : {}).map(([name, item]) => [name, item ?? null])
}

/** Returns the form of a map entry, `{ name: value }`: a message of name and value. */
function named(form: Form): Form {
  const write = (entry: Json) => {
    const [[name, value] = ['', null]] = entriesOf(entry)
    return Buffer.concat([...tagged(field(1, text), name), ...tagged(field(2, form), value)])
  }
  return { wireType: 2, write }
}

/** Returns the form of a map: a message that repeats the field of its entries. */
function mapOf(form: Form, entries = 1): Form {
  const entry = field(entries, named(form))
  const write = (value: Json) =>
    Buffer.concat(entriesOf(value).flatMap(([name, item]) => tagged(entry, { [name]: item })))
  return { wireType: 2, write }
}

/** Returns the form of a message with one field: for `oneof`, and for lists that are messages. */
function within(number: number, form: Form): Form {
  const inner = field(number, form)
  return { wireType: 2, write: (value) => Buffer.concat(tagged(inner, value)) }
}

const additionalProperties: Form = {
  wireType: 2,
  write: (value) => (typeof value === 'boolean' ? within(2, boolean) : within(1, schema)).write(value),
}

/** Delegates to the message form when it writes, because schemas are recursive. */
const schema: Form = { wireType: 2, write: (value) => schemaMessage.write(value) }

const schemaFields: Fields = {
  $ref: field(1, text),
  format: field(2, text),
  title: field(3, text),
  description: field(4, text),
  default: field(5, any),
  multipleOf: field(6, number),
  maximum: field(7, number),
  exclusiveMaximum: field(8, boolean),
  minimum: field(9, number),
  exclusiveMinimum: field(10, boolean),
  maxLength: field(11, integer),
  minLength: field(12, integer),
  pattern: field(13, text),
  maxItems: field(14, integer),
  minItems: field(15, integer),
  uniqueItems: field(16, boolean),
  maxProperties: field(17, integer),
  minProperties: field(18, integer),
  required: field(19, text),
  enum: field(20, any),
  additionalProperties: field(21, additionalProperties),
  type: field(22, within(1, text)),
  items: field(23, within(1, schema)),
  allOf: field(24, schema),
  properties: field(25, mapOf(schema)),
  example: field(30, any),
}
const schemaMessage = message(schemaFields, 31)

const bodyParameter = message(
  {
    description: field(1, text),
    name: field(2, text),
    in: field(3, text),
    required: field(4, boolean),
    schema: field(5, schema),
  },
  6,
)
const common = { required: field(1, boolean), in: field(2, text), description: field(3, text), name: field(4, text) }
const queryParameter = message({ ...common, type: field(6, text), format: field(7, text) }, 23)
const pathParameter = message({ ...common, type: field(5, text), format: field(6, text) }, 22)

/** Writes a `ParametersItem`: the `Parameter` of a body parameter or of any other. */
const parameter: Form = {
  wireType: 2,
  write: (value) => {
    const place = isJsonObject(value) ? value['in'] : undefined
    if (place === 'body') return within(1, within(1, bodyParameter)).write(value)
    const other = place === 'path' ? within(4, pathParameter) : within(3, queryParameter)
    return within(1, within(2, other)).write(value)
  },
}

const response = message({ description: field(1, text), schema: field(2, within(1, schema)) }, 5)

const operation = message(
  {
    tags: field(1, text),
    summary: field(2, text),
    description: field(3, text),
    operationId: field(5, text),
    produces: field(6, text),
    consumes: field(7, text),
    parameters: field(8, parameter),
    responses: field(9, mapOf(within(1, response))),
  },
  13,
)

const pathItem = message(
  {
    get: field(2, operation),
    put: field(3, operation),
    post: field(4, operation),
    delete: field(5, operation),
    options: field(6, operation),
    head: field(7, operation),
    patch: field(8, operation),
    parameters: field(9, parameter),
  },
  10,
)

const document = message({
  swagger: field(1, text),
  info: field(2, message({ title: field(1, text), version: field(2, text), description: field(3, text) })),
  paths: field(8, mapOf(pathItem, 2)),
  definitions: field(9, mapOf(schema)),
})

/** The media type of the document as protobuf. */
export const version2ProtobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'
/** The media types by which clients request it; the one with an at sign is older and not a valid media type. */
export const version2ProtobufTypes = [version2ProtobufType, version2ProtobufType.replace('v2.v1.0', 'v2@v1.0')]

/** Returns an OpenAPI v2 document in the protobuf form of gnostic (`OpenAPIv2.proto`), the one that kubectl and Helm read. */
export function toVersion2Protobuf(version2: JsonObject): Uint8Array {
  return document.write(version2)
}
