import type { Json, JsonObject } from '../../model/api-object.ts'
import { schemaExtension } from '../../model/dialect.ts'
import { isJsonObject } from '../document.ts'

/** The keywords whose value is a schema, a list of schemas or schemas by name: the output changes nothing inside any other value. */
const schemaKeywords = ['items', 'additionalProperties', 'not']
const schemaListKeywords = ['allOf', 'anyOf', 'oneOf']
const schemaMapKeywords = ['properties']

/** The keywords whose false, zero or empty values have a meaning: absence means something else. */
const keptKeywords = ['default', 'enum', 'example', 'minimum', 'maximum', 'additionalProperties', 'items', 'not']

/**
 * Returns a schema in the form of an answer (spec 2.2, rule 6): without keywords that are false or empty texts, lists and maps. Zeros stay.
 * Extensions keep the spelling of the request.
 */
export function compactSchema(schema: JsonObject): JsonObject {
  const kept = Object.entries(schema).filter(([keyword, value]) => isKept(keyword) || !isEmpty(value))
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, compactValue(keyword, value ?? null)]))
}

/** The keywords whose false and empty values stay in the output, because validation refuses them and must see them. */
const refusedKeywords = ['additionalItems']
const refusedExtensions = ['preserve-unknown-fields', 'list-type', 'map-type']

function isKept(keyword: string): boolean {
  const extension = schemaExtension(keyword)
  const isRefused = extension === undefined ? refusedKeywords.includes(keyword) : refusedExtensions.includes(extension)
  return isRefused || keptKeywords.includes(keyword)
}

function compactValue(keyword: string, value: Json): Json {
  if (schemaKeywords.includes(keyword) && isJsonObject(value)) return compactSchema(value)
  if (schemaListKeywords.includes(keyword) && Array.isArray(value)) return value.map(compactItem)
  if (!schemaMapKeywords.includes(keyword) || !isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, compactItem(each ?? null)]))
}

function compactItem(value: Json): Json {
  return isJsonObject(value) ? compactSchema(value) : value
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === false || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return isJsonObject(value) && Object.keys(value).length === 0
}
