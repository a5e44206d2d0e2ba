import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { childSchema } from './child-schema.ts'
import { objectMetadata } from './coerce-embedded.ts'
import { defaultedFields } from './defaulted-fields.ts'
import { fieldPath, itemPath, type JsonPath, mapFields, mapItems } from './map-json.ts'
import type { Schema } from './schema.ts'

const anyValue: Schema = { preserveUnknownFields: true }

/** The number of unknown fields reported; all are dropped. Naming a field takes time proportional to its path. */
const maxUnknown = 100

/**
 * Drops the fields that a structural schema does not declare, and reports the paths of the first 100. Nothing else changes; a value with
 * nothing to drop is returned itself.
 */
export function prune(schema: Schema, value: Json, path = ''): { value: Json; unknown: readonly string[] } {
  const anyUnknown: string[] = []
  const pruned = pruneValue(schema, value, undefined, anyUnknown, false)
  if (anyUnknown.length === 0) return { value: pruned, unknown: anyUnknown }
  const unknown: string[] = []
  return { value: pruneValue(schema, value, path, unknown, false), unknown }
}

/** Prunes a value. `isKept`: the enclosing schema or list preserves unknown fields; declared fields are pruned there too. */
function pruneValue(
  schema: Schema | undefined,
  value: Json,
  path: JsonPath,
  unknown: string[],
  isAroundKept: boolean,
): Json {
  const isKept = isAroundKept || schema?.preserveUnknownFields === true
  if (isKept && schema === undefined) return value
  if (Array.isArray(value)) {
    return mapItems(value, (item, index) => pruneValue(schema?.items, item, itemPath(path, index), unknown, isKept))
  }
  return isJsonObject(value) ? pruneObject(schema ?? {}, value, path, unknown, isKept) : value
}

function pruneObject(
  schema: Schema,
  value: JsonObject,
  path: JsonPath,
  unknown: string[],
  isKept: boolean,
): JsonObject {
  return mapFields(value, (field, key) => {
    const fieldSchema = declaredSchema(schema, key)
    if (fieldSchema !== undefined) return pruneValue(fieldSchema, field, fieldPath(path, key), unknown, false)
    if (isKept) return field
    if (unknown.length < maxUnknown) unknown.push(fieldPath(path, key) ?? key)
    return undefined
  })
}

/**
 * Returns the schema of a declared field, undefined for another one. An embedded resource has the metadata of every object, whether or not its
 * schema declares it.
 */
export function declaredSchema(schema: Schema, key: string): Schema | undefined {
  if (schema.embeddedResource !== true) return childSchema(schema, key)
  if (key === 'metadata') return objectMetadata
  return key === 'apiVersion' || key === 'kind' ? anyValue : childSchema(schema, key)
}

/**
 * Drops nulls that mean "absent": of fields that may not be null and have no default. A null with a default stays for `fillDefaults`
 * to replace.
 */
export function dropNulls(schema: Schema | undefined, value: Json): Json {
  if (schema === undefined) return value
  if (Array.isArray(value)) return mapItems(value, (item) => dropNulls(schema.items, item))
  if (!isJsonObject(value)) return value
  return mapFields(value, (field, key) => {
    const fieldSchema = childSchema(schema, key)
    const isDropped = field === null && fieldSchema !== undefined && !allowsNull(fieldSchema)
    return isDropped && fieldSchema.default === undefined ? undefined : dropNulls(fieldSchema, field)
  })
}

/** Fills in defaults where a field is absent, or null where null is not allowed; defaults get the defaults of their own fields. */
export function fillDefaults(schema: Schema | undefined, value: Json): Json {
  if (schema === undefined) return value
  if (Array.isArray(value)) return mapItems(value, (item) => fillDefaults(schema.items, orDefault(schema.items, item)))
  if (!isJsonObject(value)) return value
  const present = mapFields(value, (field, key) => {
    const fieldSchema = childSchema(schema, key)
    return fillDefaults(fieldSchema, orDefault(fieldSchema, field))
  })
  const missing = missingDefaults(schema, value)
  return missing.length === 0 ? present : { ...present, ...Object.fromEntries(missing) }
}

function missingDefaults(schema: Schema, value: JsonObject): [string, Json][] {
  const missing: [string, Json][] = []
  for (const [key, field] of defaultedFields(schema)) {
    if (!Object.hasOwn(value, key)) missing.push([key, fillDefaults(field, dropNulls(field, field.default))])
  }
  return missing
}

function orDefault(schema: Schema | undefined, value: Json): Json {
  const isReplaced = value === null && schema?.default !== undefined && !allowsNull(schema)
  return isReplaced ? dropNulls(schema, schema.default) : value
}

function allowsNull(schema: Schema): boolean {
  return schema.nullable === true
}
