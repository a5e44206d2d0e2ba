import { isDeepStrictEqual } from 'node:util'
import { type FieldError, invalidField } from './field-error.ts'
import { prune } from './prune.ts'
import type { Schema } from './schema.ts'
import { Validator } from './validate.ts'

/** Checks that defaults are valid for their own schema and pruned. Defaults below additionalProperties do not count. */
export function checkDefaults(schema: Schema, path: string): readonly FieldError[] {
  return checkBelow({ ...schema, embeddedResource: true }, path)
}

function checkBelow(schema: Schema, path: string): readonly FieldError[] {
  const { items, properties = {} } = schema
  return [
    ...checkDefault(schema, path),
    ...(items === undefined ? [] : checkBelow(items, `${path}.items`)),
    ...Object.entries(properties).flatMap(([key, each]) => checkBelow(each, `${path}.properties[${key}]`)),
  ]
}

function checkDefault(schema: Schema, path: string): readonly FieldError[] {
  const { default: value } = schema
  if (value === undefined) return []
  const where = `${path}.default`
  const isPruned = isDeepStrictEqual(prune(schema, value).value, value)
  const errors = new Validator(schema).validate(value).filter(({ reason }) => reason !== 'FieldValueDuplicate')
  return [
    ...(isPruned ? [] : [invalidField(where, value, 'must not have unknown fields')]),
    ...errors.map((error) => ({ ...error, field: placeBelow(where, error.field) })),
  ]
}

function placeBelow(where: string, field: string): string {
  return field === '' || field.startsWith('[') ? `${where}${field}` : `${where}.${field}`
}
