import { isDeepStrictEqual } from 'node:util'
import { type FieldError, forbiddenField, invalidField, requiredField } from './field-error.ts'
import { patternProblem } from './pattern.ts'
import { prune } from './prune.ts'
import type { Schema } from './schema.ts'
import { Validator } from './validate.ts'

/**
 * What makes a schema structural: every field's type can be told without looking at a value, so that pruning and defaulting are
 * certain. `path` is where the schema stands in its definition.
 */
export function checkStructural(schema: Schema, path: string): readonly FieldError[] {
  return [
    ...checkRoot(schema, path),
    ...checkNode(schema, path),
    ...checkMetadata(schema.properties?.['metadata'], `${path}.properties[metadata]`),
  ]
}

function checkRoot({ type }: Schema, path: string): readonly FieldError[] {
  if (type === undefined) return [requiredField(`${path}.type`, 'must not be empty at the root')]
  return type === 'object' ? [] : [invalidField(`${path}.type`, type, 'must be object at the root')]
}

function checkMetadata(schema: Schema | undefined, path: string): readonly FieldError[] {
  if (schema === undefined) return []
  const { type, properties = {}, description: _, ...rest } = schema
  const isPlain = Object.keys(rest).length === 0 && (type === undefined || type === 'object')
  const isNameOnly = Object.keys(properties).every((key) => key === 'name' || key === 'generateName')
  const why = 'must not specify anything other than name and generateName, but metadata is implicitly specified'
  return isPlain && isNameOnly ? [] : [forbiddenField(path, why)]
}

function checkNode(schema: Schema, path: string): readonly FieldError[] {
  const { properties = {}, additionalProperties, items } = schema
  return [
    ...checkOwnRules(schema, path),
    ...checkPattern(schema, path),
    ...checkDefault(schema, path),
    ...compositionsOf(schema, path).flatMap(([part, where]) => checkValuePart(part, schema, where)),
    ...Object.entries(properties).flatMap(([key, each]) => {
      return checkField(each, `${path}.properties[${key}]`, 'must not be empty for specified object fields')
    }),
    ...(additionalProperties === undefined ? [] : checkNode(additionalProperties, `${path}.additionalProperties`)),
    ...(items === undefined ? [] : checkField(items, `${path}.items`, 'must not be empty for specified array items')),
  ]
}

function checkField(schema: Schema, path: string, why: string): readonly FieldError[] {
  const { type, intOrString, preserveUnknownFields } = schema
  const isTyped = type !== undefined || intOrString === true || preserveUnknownFields === true
  return [...(isTyped ? [] : [requiredField(`${path}.type`, why)]), ...checkNode(schema, path)]
}

function checkOwnRules(schema: Schema, path: string): readonly FieldError[] {
  const { type, properties, additionalProperties, items, intOrString, embeddedResource } = schema
  const errors: FieldError[] = [...checkListType(schema, path)]
  if (properties !== undefined && additionalProperties !== undefined) {
    errors.push(
      forbiddenField(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive'),
    )
  }
  if (type === 'array' && items === undefined) errors.push(requiredField(`${path}.items`, 'must be specified'))
  if (intOrString === true && type !== undefined) {
    errors.push(invalidField(`${path}.type`, type, 'must be empty if int-or-string is true'))
  }
  if (embeddedResource === true && type !== 'object') {
    errors.push(invalidField(`${path}.type`, type, 'must be object if embedded-resource is true'))
  }
  if (embeddedResource === true && properties === undefined && schema.preserveUnknownFields !== true) {
    errors.push(
      requiredField(
        `${path}.properties`,
        'must not be empty if embedded-resource is true without preserve-unknown-fields',
      ),
    )
  }
  return errors
}

function checkListType({ type, listType, listMapKeys, items }: Schema, path: string): readonly FieldError[] {
  const errors: FieldError[] = []
  if (listType !== undefined && type !== 'array') {
    errors.push(invalidField(`${path}.type`, type, 'must be array if list-type is specified'))
  }
  const hasKeys = listMapKeys !== undefined && listMapKeys.length > 0
  if (listType === 'map' && !hasKeys)
    errors.push(requiredField(`${path}.list-map-keys`, 'must not be empty if list-type is map'))
  if (listType !== 'map' && hasKeys) errors.push(forbiddenField(`${path}.list-map-keys`, 'is only for list-type map'))
  if (listType === 'map' && items?.type !== 'object') {
    errors.push(invalidField(`${path}.items.type`, items?.type, 'must be object if parent array list-type is map'))
  }
  return [...errors, ...(listType === 'map' ? checkMapKeys(listMapKeys ?? [], items ?? {}, path) : [])]
}

function checkMapKeys(keys: readonly string[], items: Schema, path: string): readonly FieldError[] {
  const errors: FieldError[] = []
  for (const key of keys) {
    const property = Object.hasOwn(items.properties ?? {}, key) ? items.properties?.[key] : undefined
    const isThere = items.required?.includes(key) === true || property?.default !== undefined
    if (property === undefined)
      errors.push(requiredField(`${path}.items.properties[${key}]`, 'because it is a key of the list'))
    else if (!isThere)
      errors.push(
        requiredField(
          `${path}.items.properties[${key}].default`,
          'this property is in list-map-keys, so it must have a default or be a required property',
        ),
      )
  }
  return errors
}

function checkPattern({ pattern }: Schema, path: string): readonly FieldError[] {
  const problem = pattern === undefined ? undefined : patternProblem(pattern)
  return problem === undefined
    ? []
    : [invalidField(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${problem}`)]
}

function checkDefault(schema: Schema, path: string): readonly FieldError[] {
  const { default: value } = schema
  if (value === undefined) return []
  const where = `${path}.default`
  if (!isDeepStrictEqual(prune(schema, value).value, value)) {
    return [invalidField(where, value, 'must not have fields that the schema does not specify')]
  }
  return new Validator(schema).validate(value, where)
}

type Placed = readonly [schema: Schema, path: string]

function compositionsOf({ allOf = [], anyOf = [], oneOf = [], not }: Schema, path: string): readonly Placed[] {
  const lists = { allOf, anyOf, oneOf }
  const placed = Object.entries(lists).flatMap(([keyword, schemas]) => {
    return schemas.map((schema, index): Placed => [schema, `${path}.${keyword}[${index}]`])
  })
  return not === undefined ? placed : [...placed, [not, `${path}.not`]]
}

/** Inside allOf, anyOf, oneOf and not stand only rules for values: fields they name must be declared outside. */
function checkValuePart(part: Schema, outside: Schema, path: string): readonly FieldError[] {
  return [
    ...forbiddenInside(part, outside, path),
    ...checkPattern(part, path),
    ...compositionsOf(part, path).flatMap(([each, where]) => checkValuePart(each, outside, where)),
    ...Object.entries(part.properties ?? {}).flatMap(([key, each]) => checkNamed(each, key, outside, path)),
    ...(part.items === undefined ? [] : checkValuePart(part.items, outside.items ?? {}, `${path}.items`)),
  ]
}

function checkNamed(part: Schema, key: string, outside: Schema, path: string): readonly FieldError[] {
  const where = `${path}.properties[${key}]`
  const { properties = {} } = outside
  const declared = Object.hasOwn(properties, key) ? properties[key] : outside.additionalProperties
  if (declared !== undefined) return checkValuePart(part, declared, where)
  if (outside.preserveUnknownFields === true) return []
  return [
    requiredField(
      `${path.replace(/(?:\.(?:allOf|anyOf|oneOf)\[\d+\]|\.not)+$/, '')}.properties[${key}]`,
      `because it is defined in ${where}`,
    ),
  ]
}

const forbiddenKeywords = [
  ['type', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['default', 'must be undefined to be structural'],
  ['nullable', 'must be false to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['preserveUnknownFields', 'must be false to be structural'],
  ['intOrString', 'must be false to be structural'],
  ['embeddedResource', 'must be false to be structural'],
] as const

function forbiddenInside(part: Schema, outside: Schema, path: string): readonly FieldError[] {
  const isIntOrString = outside.intOrString === true && (part.type === 'integer' || part.type === 'string')
  return forbiddenKeywords
    .filter(([keyword]) => part[keyword] !== undefined && !(keyword === 'type' && isIntOrString))
    .map(([keyword, why]) => forbiddenField(`${path}.${keyword}`, why))
}
