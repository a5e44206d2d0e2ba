import { isDeepStrictEqual } from 'node:util'
import type { Json } from '../../../model/api-object.ts'
import { isJsonObject } from '../../document.ts'
import { numberOf } from '../../exact-json.ts'
import type { Schema } from '../../schema/schema.ts'
import { withObjectMeta } from '../object-meta.ts'
import { ItemList, JsonList, KeyedList, type Parts, SetList } from './lists.ts'
import { JsonFields, JsonMap } from './maps.ts'
import { parseDate, parseDateTime, parseSchemaDuration } from './times.ts'
import { CelType } from './types.ts'
import { CelError, OpaqueValue, type Value } from './values.ts'

const unknownType = new CelType('dyn', 'unknown')

/**
 * Reads the values of an object, and of its state before an update, as rules see them. Parts are read on request, lists
 * and objects once.
 */
export class ValueReader implements Parts {
  readonly #known = new WeakMap<object, Value>()

  read(value: unknown, schema: Schema): Value {
    if (typeof value !== 'object' || value === null) return readScalar(value, schema)
    const known = this.#known.get(value)
    if (known !== undefined) return known
    const read = this.#readParts(value, schema)
    this.#known.set(value, read)
    return read
  }

  #readParts(value: object, schema: Schema): Value {
    if (schema.intOrString !== true && schema.type === 'object') return this.#readObject(value, schema)
    if (schema.intOrString !== true && schema.type === 'array') return this.#readArray(value, schema)
    return readScalar(value, schema)
  }

  #readObject(value: object, schema: Schema): Value {
    if (!isJsonObject(value as Json)) return noMap
    const fields = value as Readonly<Record<string, Json>>
    if (schema.embeddedResource === true) return new JsonFields(fields, withObjectMeta(schema), this)
    return schema.properties === undefined ? new JsonMap(fields, schema, this) : new JsonFields(fields, schema, this)
  }

  #readArray(value: object, schema: Schema): Value {
    if (!Array.isArray(value)) return noArray
    if (schema.listType === 'set') return new SetList(value, schema, this)
    return schema.listType === 'map' ? new KeyedList(value, schema, this) : new JsonList(value, schema, this)
  }

  nativeOf(value: Value): unknown {
    if (value instanceof JsonMap) return value.value
    if (value instanceof JsonList) return value.elements
    if (value instanceof ItemList) return value.items.map((item) => this.nativeOf(item))
    if (value === null) return nativeNull
    return value instanceof UnknownValue ? value.value : value
  }
}

/** The key for a null that an expression makes; it is no null of the schema. */
const nativeNull = Symbol('null')

const noMap = new CelError('invalid data, expected a map for the provided schema with type=object')
const noArray = new CelError('invalid data, expected an array for the provided schema with type=array')

function readScalar(value: unknown, schema: Schema): Value {
  if (value === null || value === undefined) {
    return schema.nullable === true ? null : new CelError('invalid data, got null for schema with nullable=false')
  }
  if (schema.intOrString === true) return readIntOrString(value)
  switch (schema.type) {
    case 'object':
      return noMap
    case 'array':
      return noArray
    case 'string':
      return typeof value === 'string' ? readText(value, schema.format) : mismatch('string', value)
    case 'number':
      return typeof value === 'bigint' ? Number(value) : (numberOf(value as Json) ?? mismatch('float', value))
    case 'integer':
      return readInteger(value)
    case 'boolean':
      return typeof value === 'boolean' ? value : mismatch('bool', value)
    default:
      return new UnknownValue(value)
  }
}

/** A value without a type, which can only be compared. */
class UnknownValue extends OpaqueValue {
  readonly type = unknownType
  readonly value: unknown

  constructor(value: unknown) {
    super()
    this.value = value
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof UnknownValue && isDeepStrictEqual(this.value, other.value)
  }
}

function readIntOrString(value: unknown): Value {
  if (typeof value === 'string') return value
  const integer = readInteger(value)
  if (typeof integer === 'bigint') return integer
  return new CelError('invalid data, expected XIntOrString value to be either a string or integer')
}

function readInteger(value: unknown): Value {
  if (typeof value === 'bigint') return value
  const number = typeof value === 'number' ? value : numberOf(value as Json)
  return number !== undefined && Number.isInteger(number) ? BigInt(number) : mismatch('int', value)
}

function readText(text: string, format: string | undefined): Value {
  switch (format) {
    case 'duration':
      return parseSchemaDuration(text) ?? new CelError(`Invalid duration ${text}: unable to parse ${text} as duration`)
    case 'date':
      return parseDate(text) ?? new CelError(`Invalid date formatted string ${text}`)
    case 'date-time':
      return parseDateTime(text) ?? new CelError(`Invalid date-time formatted string ${text}`)
    case 'byte':
      return readBytes(text)
    default:
      return text
  }
}

/** Reads bytes; Kubernetes reads the URL-safe form of base64 here. */
function readBytes(text: string): Value {
  if (text.length % 4 === 0 && /^[\w-]*={0,2}$/.test(text)) return Buffer.from(text, 'base64url')
  const end = /^[\w-]*/.exec(text)?.[0].length ?? 0
  return new CelError(`Invalid byte formatted string ${text}: illegal base64 data at input byte ${end}`)
}

const goTypes: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'bool',
  number: 'int64',
  bigint: 'int64',
  symbol: 'structpb.NullValue',
}

function mismatch(expected: string, value: unknown): CelError {
  const other = Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}'
  const given = typeof value === 'number' && !Number.isInteger(value) ? 'float64' : (goTypes[typeof value] ?? other)
  return new CelError(`invalid data, expected ${expected}, got ${given}`)
}
