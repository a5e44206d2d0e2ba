import type { Json } from '../../model/api-object.ts'
import type { Schema } from './schema.ts'

type DefaultedSchema = Schema & { readonly default: Json }

const known = new WeakMap<NonNullable<Schema['properties']>, readonly (readonly [string, DefaultedSchema])[]>()

/** Returns the fields of a schema that have a default, computed once per schema: a long list asks for them with each item. */
export function defaultedFields({ properties }: Schema): readonly (readonly [string, DefaultedSchema])[] {
  if (properties === undefined) return []
  const fields = known.get(properties) ?? Object.entries(properties).filter(hasDefault)
  known.set(properties, fields)
  return fields
}

function hasDefault(field: [string, Schema]): field is [string, DefaultedSchema] {
  return field[1].default !== undefined
}
