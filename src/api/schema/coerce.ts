import type { Json, JsonObject } from '../../model/api-object.ts'
import { canonicalQuantity } from '../../model/canonical-quantity.ts'
import { isQuantity } from '../../model/quantity.ts'
import { isJsonObject, jsonTypeName } from '../document.ts'
import { numberOf } from '../exact-json.ts'
import { defaultedFields } from './defaulted-fields.ts'
import { fieldPath, itemPath, type JsonPath, mapFields, mapItems } from './map-json.ts'
import type { Schema } from './schema.ts'
import { shortJson } from './short-json.ts'
import { readTextForm, type TextForm, textForms } from './text-forms.ts'

/** The number of problems reported: more help no reader, and naming one takes time proportional to its path. */
const maxProblems = 100

/** A value whose JSON type is not the declared one. */
export interface TypeProblem {
  readonly path: string
  readonly expected: string
  readonly found: string
}

/**
 * Coerces a value to its schema: prunes undeclared fields, drops nulls that mean "absent", fills in defaults. A null in a list or a map
 * becomes the empty value of its type, as clients written in Go read it (an empty line of a manifest). Values of another type than declared
 * are reported and left unchanged.
 */
export function coerce(schema: Schema, value: Json, path = ''): { value: Json; problems: readonly TypeProblem[] } {
  const anyProblems: TypeProblem[] = []
  const coerced = coerceValue(schema, value, undefined, anyProblems)
  if (anyProblems.length === 0) return { value: coerced, problems: anyProblems }
  const problems: TypeProblem[] = []
  return { value: coerceValue(schema, value, path, problems), problems }
}

function coerceValue(schema: Schema, value: Json, path: JsonPath, problems: TypeProblem[]): Json {
  if (value === null && schema.nullable === true) return value
  if (!hasDeclaredType(schema, value)) {
    if (problems.length < maxProblems) problems.push({ path: path ?? '', ...describeMismatch(schema, value) })
    return value
  }
  if (typeof value === 'string')
    return schema.textForm === undefined ? value : coerceText(schema.textForm, value, path, problems)
  if (Array.isArray(value)) return coerceItems(schema, value, path, problems)
  if (schema.textForm === 'quantity') return canonicalQuantity(JSON.stringify(value))
  return isJsonObject(value) ? coerceObject(schema, value, path, problems) : value
}

function coerceText(form: TextForm, value: string, path: JsonPath, problems: TypeProblem[]): string {
  const text = readTextForm(form, value)
  if (text === undefined && problems.length < maxProblems)
    problems.push({ path: path ?? '', expected: textForms[form], found: 'another text' })
  return text ?? value
}

function coerceItems(schema: Schema, items: readonly Json[], path: JsonPath, problems: TypeProblem[]): Json {
  const itemSchema = schema.items
  if (itemSchema === undefined) return items
  return mapItems(items, (item, index) =>
    coerceValue(itemSchema, withoutNull(itemSchema, item), itemPath(path, index), problems),
  )
}

function coerceObject(schema: Schema, value: JsonObject, path: JsonPath, problems: TypeProblem[]): JsonObject {
  const present = mapFields(value, (field, key) => {
    const fieldSchema = schemaOf(schema, key)
    if (fieldSchema === undefined) return schema.preserveUnknownFields === true ? field : undefined
    if (field === null && fieldSchema.nullable !== true && isDeclared(schema, key)) return undefined
    return coerceValue(fieldSchema, withoutNull(fieldSchema, field), fieldPath(path, key), problems)
  })
  const missing = missingDefaults(schema, value)
  return missing === undefined ? present : { ...present, ...missing }
}

function missingDefaults(schema: Schema, value: JsonObject): JsonObject | undefined {
  let defaults: [string, Json][] | undefined
  for (const [key, fieldSchema] of defaultedFields(schema)) {
    if (isPresent(value, key, fieldSchema)) continue
    defaults ??= []
    defaults.push([key, defaultOf(fieldSchema)])
  }
  return defaults && Object.fromEntries(defaults)
}

const knownDefaults = new WeakMap<Schema, Json>()

/** Returns the default with the defaults of its own fields, computed once: no document that gets it changes it. */
function defaultOf(schema: Schema & { readonly default: Json }): Json {
  const known = knownDefaults.get(schema) ?? coerceValue(schema, schema.default, undefined, [])
  knownDefaults.set(schema, known)
  return known
}

/**
 * Checks whether a field counts as present. An empty text counts as absent where the default is another text: clients written in Go leave both
 * out.
 */
function isPresent(value: JsonObject, key: string, schema: Schema): boolean {
  if (!Object.hasOwn(value, key)) return false
  if (value[key] === null) return schema.nullable === true
  return value[key] !== '' || typeof schema.default !== 'string'
}

function isDeclared({ properties }: Schema, key: string): boolean {
  return properties !== undefined && Object.hasOwn(properties, key)
}

function schemaOf(schema: Schema, key: string): Schema | undefined {
  return isDeclared(schema, key) ? schema.properties?.[key] : schema.additionalProperties
}

const emptyValues: Readonly<Record<NonNullable<Schema['type']>, Json>> = {
  object: {},
  array: [],
  string: '',
  integer: 0,
  number: 0,
  boolean: false,
}

function withoutNull(schema: Schema, value: Json): Json {
  if (value !== null || schema.nullable === true) return value
  if (schema.intOrString === true) return schema.format === 'quantity' ? '0' : 0
  return schema.type === undefined ? value : emptyValues[schema.type]
}

function hasDeclaredType(schema: Schema, value: Json): boolean {
  if (schema.intOrString === true) return isIntOrString(schema, value)
  switch (schema.type) {
    case undefined:
      return true
    case 'object':
      return isJsonObject(value)
    case 'array':
      return Array.isArray(value)
    case 'integer':
      return isWhole(schema, value)
    default:
      return typeof value === schema.type
  }
}

/** Checks for an integer, a string or a fraction: resource quantities are often written as fractions (`cpu: 0.5`). */
function isIntOrString(schema: Schema, value: Json): boolean {
  if (schema.format === 'quantity') {
    return typeof value === 'string'
      ? isQuantity(value)
      : numberOf(value) !== undefined && isQuantity(JSON.stringify(value))
  }
  return typeof value === 'string' || isWhole(schema, value)
}

const int32 = { least: -(2 ** 31), most: 2 ** 31 - 1 }

function isWhole({ format }: Schema, value: Json): boolean {
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return false
  return format === 'int64' || (value >= int32.least && value <= int32.most)
}

/** Describes a type mismatch; for a number that does not fit, the number is more useful than its type. */
function describeMismatch({ type, format, intOrString }: Schema, value: Json): Pick<TypeProblem, 'expected' | 'found'> {
  if (format === 'quantity') return { expected: 'quantity', found: shortJson(value) }
  const isNumber = numberOf(value) !== undefined
  const wanted = type === 'integer' && isNumber ? (format ?? type) : type
  const isShown = isNumber && (type === 'integer' || intOrString === true)
  return { expected: wanted ?? 'integer or string', found: isShown ? JSON.stringify(value) : jsonTypeName(value) }
}
