import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { numberOf } from '../exact-json.ts'
import { type Schema, text } from '../schema/schema.ts'
import type { RuleEnvironment } from './environment.ts'
import { escapeName } from './escape-name.ts'
import { CelFailure } from './library/failure.ts'
import { toDuration, toTimestamp } from './library/times.ts'

/** The values that have been read, so that rules on several levels of an object read each part once. */
export type ReadValues = WeakMap<object, unknown>

/** How rules see the values of a schema. */
export interface RuleType {
  /** The name of its type in the environment. */
  readonly name: string
  /** Throws where the JSON is not what the schema says. */
  readonly read: (value: Json, known: ReadValues) => unknown
}

const objectMeta: Schema = { type: 'object', properties: { name: text, generateName: text } }
/** What every API object has, whether its schema says so or not. */
const objectFields: Readonly<Record<string, Schema>> = { apiVersion: text, kind: text, metadata: objectMeta }

/** Declares the types of a schema's values in an environment: objects by their properties, each schema once. */
export class SchemaTypes {
  readonly #environment: RuleEnvironment
  readonly #types = new Map<Schema, RuleType | undefined>()
  readonly #maxObjectTypes: number
  #count = 0

  constructor(environment: RuleEnvironment, maxObjectTypes: number) {
    this.#environment = environment
    this.#maxObjectTypes = maxObjectTypes
  }

  /** Undefined for a schema that says too little: rules do not see its values. `isObject`: a whole API object. */
  typeOf(schema: Schema, isObject = schema.embeddedResource === true): RuleType | undefined {
    if (this.#types.has(schema)) return this.#types.get(schema)
    const type = this.#declare(schema, isObject)
    this.#types.set(schema, type)
    return type
  }

  #declare(schema: Schema, isObject: boolean): RuleType | undefined {
    if (schema.intOrString === true) return { name: 'dyn', read: readIntOrString }
    if (schema.type === 'array') return this.#declareList(schema)
    if (schema.type !== 'object') return scalarType(schema)
    return schema.additionalProperties === undefined || schema.properties !== undefined
      ? this.#declareObject(schema, isObject)
      : this.#declareMap(schema.additionalProperties)
  }

  #declareList({ items }: Schema): RuleType | undefined {
    const item = items && this.typeOf(items)
    if (item === undefined) return undefined
    const read: RuleType['read'] = (value, known) => {
      if (!Array.isArray(value)) throw new CelFailure(`invalid data, expected an array, got ${typeof value}`)
      return remember(value, known, () => (value as readonly Json[]).map((each) => item.read(each, known)))
    }
    return { name: `list<${item.name}>`, read }
  }

  #declareMap(schema: Schema): RuleType | undefined {
    const type = this.typeOf(schema)
    if (type === undefined) return undefined
    return {
      name: `map<string, ${type.name}>`,
      read: (value, known) => readMembers(value, known, new Map(), (key) => ({ names: [key], type })),
    }
  }

  #declareObject({ properties = {} }: Schema, isObject: boolean): RuleType | undefined {
    if (this.#count >= this.#maxObjectTypes) return undefined
    const members = new Map<string, Member>()
    for (const [key, schema] of Object.entries(isObject ? { ...properties, ...objectFields } : properties)) {
      const names = escapeName(key)
      const type = names.length === 0 ? undefined : this.typeOf(schema)
      if (type !== undefined) members.set(key, { names, type })
    }
    const ctor = class extends Map<string, unknown> {}
    const name = `object${++this.#count}`
    const named = [...members.values()].flatMap(({ names, type }) => names.map((each) => [each, type.name] as const))
    const fields = Object.fromEntries(named)
    this.#environment.declareType({ name, ctor, fields })
    return { name, read: (value, known) => readMembers(value, known, new ctor(), (key) => members.get(key)) }
  }
}

/** A field of an object: the names that rules have for it. */
interface Member {
  readonly names: readonly string[]
  readonly type: RuleType
}

function readMembers(
  value: Json,
  known: ReadValues,
  target: Map<string, unknown>,
  memberOf: (key: string) => Member | undefined,
): unknown {
  if (!isJsonObject(value)) throw new CelFailure(`invalid data, expected a map, got ${typeof value}`)
  return remember(value, known, () => fill(target, value, known, memberOf))
}

/** A null is as good as absent. */
function fill(
  target: Map<string, unknown>,
  value: JsonObject,
  known: ReadValues,
  memberOf: (key: string) => Member | undefined,
): Map<string, unknown> {
  for (const [key, field] of Object.entries(value)) {
    const member = memberOf(key)
    if (member === undefined || field === undefined || field === null) continue
    const made = member.type.read(field, known)
    for (const name of member.names) target.set(name, made)
  }
  return target
}

function remember(value: object, known: ReadValues, read: () => unknown): unknown {
  const found = known.get(value)
  if (found !== undefined) return found
  const made = read()
  known.set(value, made)
  return made
}

const textTypes: Readonly<Record<string, RuleType>> = {
  byte: { name: 'bytes', read: (value) => Buffer.from(textOf(value), 'base64') },
  duration: { name: 'google.protobuf.Duration', read: (value) => toDuration(textOf(value)) },
  date: { name: 'google.protobuf.Timestamp', read: (value) => toTimestamp(`${textOf(value)}T00:00:00Z`) },
  'date-time': { name: 'google.protobuf.Timestamp', read: (value) => toTimestamp(textOf(value)) },
}

function scalarType({ type, format = '' }: Schema): RuleType | undefined {
  switch (type) {
    case 'string':
      return Object.hasOwn(textTypes, format) ? textTypes[format] : { name: 'string', read: textOf }
    case 'integer':
      return { name: 'int', read: integerOf }
    case 'number':
      return { name: 'double', read: (value) => numberOf(value) ?? mismatch('number', value) }
    case 'boolean':
      return { name: 'bool', read: (value) => (typeof value === 'boolean' ? value : mismatch('boolean', value)) }
    default:
      return undefined
  }
}

function textOf(value: Json): string {
  return typeof value === 'string' ? value : mismatch('string', value)
}

function integerOf(value: Json): bigint {
  const number = numberOf(value)
  return number !== undefined && Number.isInteger(number) ? BigInt(number) : mismatch('integer', value)
}

function readIntOrString(value: Json): unknown {
  return typeof value === 'string' ? value : integerOf(value)
}

function mismatch(expected: string, value: Json): never {
  throw new CelFailure(`invalid data, expected ${expected}, got ${typeof value}`)
}
