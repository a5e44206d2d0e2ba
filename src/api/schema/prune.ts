import type { Json, JsonObject } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { childSchema } from './child-schema.ts'
import { joinPath, mapFields, mapItems } from './map-json.ts'
import type { Schema } from './schema.ts'

/** What every API object has, whether its schema names it or not. */
const objectFields = ['apiVersion', 'kind', 'metadata']

/**
 * Drops the fields that a structural schema does not declare, and tells their paths. Nothing else changes; a value that has nothing to
 * drop is answered itself.
 */
export function prune(schema: Schema, value: Json, path = ''): { value: Json; unknown: readonly string[] } {
  const unknown: string[] = []
  return { value: pruneValue(schema, value, path, unknown), unknown }
}

function pruneValue(schema: Schema | undefined, value: Json, path: string, unknown: string[]): Json {
  if (Array.isArray(value)) {
    return mapItems(value, (item, index) => pruneValue(schema?.items, item, `${path}[${index}]`, unknown))
  }
  return isJsonObject(value) ? pruneObject(schema ?? {}, value, path, unknown) : value
}

function pruneObject(schema: Schema, value: JsonObject, path: string, unknown: string[]): JsonObject {
  return mapFields(value, (field, key) => {
    if (schema.embeddedResource === true && objectFields.includes(key)) return field
    const fieldSchema = childSchema(schema, key)
    if (fieldSchema !== undefined) return pruneValue(fieldSchema, field, joinPath(path, key), unknown)
    if (schema.preserveUnknownFields === true) return field
    unknown.push(joinPath(path, key))
    return undefined
  })
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

/** Fills in what is absent, or null where null is not allowed; defaults get the defaults of their own fields. */
export function fillDefaults(schema: Schema | undefined, value: Json): Json {
  if (schema === undefined) return value
  if (Array.isArray(value)) return mapItems(value, (item) => fillDefaults(schema.items, orDefault(schema.items, item)))
  if (!isJsonObject(value)) return value
  const present = mapFields(value, (field, key) => {
    const fieldSchema = childSchema(schema, key)
    return fillDefaults(fieldSchema, orDefault(fieldSchema, field))
  })
  const missing = missingDefaults(schema, value)
  return missing.length === 0 ? present : Object.fromEntries([...Object.entries(present), ...missing])
}

function missingDefaults({ properties = {} }: Schema, value: JsonObject): [string, Json][] {
  const missing: [string, Json][] = []
  for (const [key, schema] of Object.entries(properties)) {
    if (schema.default !== undefined && !Object.hasOwn(value, key))
      missing.push([key, fillDefaults(schema, dropNulls(schema, schema.default))])
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
