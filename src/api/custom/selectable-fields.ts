import type { Json } from '../../model/api-object.ts'
import { listAt, objectAt, textAt } from '../document.ts'
import { duplicateField, type FieldError, invalidField, requiredField, tooManyField } from '../schema/field-error.ts'
import { parseSchema } from '../schema/parse-schema.ts'
import type { Schema } from '../schema/schema.ts'

const maxFields = 8
const selectableTypes = ['string', 'boolean', 'integer']

/** Checks the fields of a version that a field selector may name: each must be a plain value that the schema declares. */
export function validateSelectable(version: Json | undefined, path: string): readonly FieldError[] {
  const { schema } = parseSchema(objectAt(version, 'schema', 'openAPIV3Schema'), '')
  const seen = new Set<string>()
  const errors = listAt(version, 'selectableFields').flatMap((field, index) => {
    return validateField(textAt(field, 'jsonPath'), schema, `${path}[${index}].jsonPath`, seen)
  })
  return seen.size > maxFields ? [...errors, tooManyField(path, seen.size, maxFields)] : errors
}

function validateField(text: string, root: Schema, path: string, seen: Set<string>): readonly FieldError[] {
  if (text === '') return [requiredField(path)]
  const found = followPath(text, root)
  if (typeof found === 'string') return [invalidField(path, text, `is an invalid path: ${found}`)]
  const isTwice = seen.has(text)
  seen.add(text)
  const why =
    'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.'
  return [
    ...(text.startsWith('.metadata.') ? [invalidField(path, text, 'must not point to fields in metadata')] : []),
    ...(selectableTypes.includes(found.type ?? '') ? [] : [invalidField(path, text, why)]),
    ...(isTwice ? [duplicateField(path, text)] : []),
  ]
}

/** Returns the schema at the end of a path such as `.spec.color`, or the reason why the path has none. */
function followPath(text: string, root: Schema): Schema | string {
  const tokens = text.match(/[.[\]]|[^.[\]]+/g) ?? []
  let schema = root
  for (let index = 0; index < tokens.length; index += 2) {
    if (tokens[index] === '[') return 'array notation is not allowed'
    if (tokens[index] !== '.') return `expected [ or . but got: ${tokens[index]}`
    const name = tokens[index + 1]
    if (name === undefined) return 'unexpected end of JSON path'
    const { properties, additionalProperties } = schema
    const own = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined
    const below = properties === undefined ? additionalProperties : own
    if (below === undefined) return 'does not refer to a valid field'
    schema = below
  }
  return schema
}
