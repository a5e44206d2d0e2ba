import type { Json } from '../../model/api-object.ts'
import { isJsonObject } from '../document.ts'
import { metadataSchema } from './built-in-schema.ts'
import { childSchema } from './child-schema.ts'
import { coerce, type TypeProblem } from './coerce.ts'
import { joinPath, mapFields, mapItems } from './map-json.ts'
import type { Schema } from './schema.ts'

/** The metadata schema of every kind; built once. */
export const objectMetadata = metadataSchema()

/** Coerces the metadata of embedded resources, at any depth, to the metadata schema. Nothing else changes. */
export function coerceEmbedded(schema: Schema, value: Json): { value: Json; problems: readonly TypeProblem[] } {
  const problems: TypeProblem[] = []
  return { value: coerceValue(schema, value, '', problems), problems }
}

function coerceValue(schema: Schema | undefined, value: Json, path: string, problems: TypeProblem[]): Json {
  if (schema === undefined) return value
  if (Array.isArray(value)) {
    return mapItems(value, (item, index) => coerceValue(schema.items, item, `${path}[${index}]`, problems))
  }
  if (!isJsonObject(value)) return value
  return mapFields(value, (field, key) => {
    const isMetadata = schema.embeddedResource === true && key === 'metadata'
    if (!isMetadata) return coerceValue(childSchema(schema, key), field, joinPath(path, key), problems)
    const coerced = coerce(objectMetadata, field ?? {}, joinPath(path, key))
    problems.push(...coerced.problems)
    return coerced.value
  })
}
