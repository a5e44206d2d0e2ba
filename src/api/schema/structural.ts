import { isDeepStrictEqual } from 'node:util'
import { checkDefaults } from './check-defaults.ts'
import type { Extension } from './extension.ts'
import { type FieldError, forbiddenField, invalidField, requiredField } from './field-error.ts'
import { patternProblem } from './pattern.ts'
import type { Schema } from './schema.ts'
import { anyProperty, noProperty } from './schema.ts'
import { checkSchemaRules } from './schema-rules.ts'

/**
 * Checks that a schema is structural: every field's type is known without a value, so that pruning and defaulting are well defined. `path` is
 * the schema's position in its definition. Fields, texts and number of the errors are those of Kubernetes.
 */
export function checkStructural(
  schema: Schema,
  path: string,
  extension: Extension = (name) => `x-kubernetes-${name}`,
): StructuralErrors {
  const invariants = [
    ...new StructureCheck(extension).check(schema, 'root', path),
    ...checkComplete(schema, schema, path, path),
  ].sort((left, right) => compareTexts(`${left.field}: ${left.message}`, `${right.field}: ${right.message}`))
  const defaults = invariants.length > 0 ? [] : checkDefaults(schema, path)
  return { structure: [...invariants, ...defaults], rules: checkSchemaRules(schema, path, extension) }
}

/** The errors that make a schema not structural, and its other errors. */
interface StructuralErrors {
  readonly structure: readonly FieldError[]
  readonly rules: readonly FieldError[]
}

function compareTexts(left: string, right: string): number {
  if (left === right) return 0
  return left < right ? -1 : 1
}

type Level = 'root' | 'item' | 'field'

const missingType: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

const intOrString: readonly Schema[] = [{ type: 'integer' }, { type: 'string' }]

class StructureCheck {
  readonly #extension: Extension

  constructor(extension: Extension) {
    this.#extension = extension
  }

  check(schema: Schema, level: Level, path: string): readonly FieldError[] {
    const { properties = {}, items } = schema
    return [
      ...(schema.type === 'array' && items === undefined ? [requiredField(`${path}.items`, 'must be specified')] : []),
      ...(items === undefined ? [] : this.check(items, 'item', `${path}.items`)),
      ...Object.entries(properties).flatMap(([key, each]) => this.check(each, 'field', `${path}.properties[${key}]`)),
      ...this.#checkAdditional(schema, level, path),
      ...this.#checkExtensions(schema, path),
      ...this.#checkValueRules(schema, path, {
        skipsAnyOf: isDeepStrictEqual(schema.anyOf, intOrString),
        skipsFirstAllOf: isDeepStrictEqual(schema.allOf?.[0]?.anyOf, intOrString),
      }),
      ...this.#checkType(schema, level, path),
      ...this.#checkObjectFields(schema, level, path),
    ]
  }

  #checkAdditional(
    { additionalProperties, embeddedResource }: Schema,
    level: Level,
    path: string,
  ): readonly FieldError[] {
    if (additionalProperties === undefined) return []
    const where = `${path}.additionalProperties`
    const set = `must not be used if ${this.#extension('embedded-resource')} is set`
    return [
      ...(level === 'root' ? [forbiddenField(where, 'must not be used at the root')] : []),
      ...(embeddedResource === true ? [forbiddenField(where, set)] : []),
      ...(isAnswer(additionalProperties) ? [] : this.check(additionalProperties, 'field', where)),
    ]
  }

  #checkExtensions(schema: Schema, path: string): readonly FieldError[] {
    if (schema.intOrString !== true) return []
    const why = `must be false if ${this.#extension('int-or-string')} is true`
    const wrong = [
      ...(schema.preserveUnknownFields === true ? ['preserve-unknown-fields'] : []),
      ...(schema.embeddedResource === true ? ['embedded-resource'] : []),
    ]
    return wrong.map((name) => invalidField(`${path}.${this.#extension(name)}`, true, why))
  }

  #checkType(schema: Schema, level: Level, path: string): readonly FieldError[] {
    const { type, embeddedResource, intOrString, preserveUnknownFields } = schema
    const where = `${path}.type`
    const errors: FieldError[] = []
    if (embeddedResource === true && type !== 'object') {
      const why = `must be object if ${this.#extension('embedded-resource')} is true`
      errors.push(type === undefined ? requiredField(where, why) : invalidField(where, type, why))
    } else if (type === undefined && intOrString !== true && preserveUnknownFields !== true) {
      errors.push(requiredField(where, missingType[level]))
    }
    if (level === 'root' && type !== undefined && type !== 'object') {
      errors.push(invalidField(where, type, 'must be object at the root'))
    }
    return errors
  }

  /** Checks apiVersion, kind and metadata of a whole API object. */
  #checkObjectFields(schema: Schema, level: Level, path: string): readonly FieldError[] {
    const { properties = {}, embeddedResource, preserveUnknownFields } = schema
    const isObject = level === 'root' || embeddedResource === true
    const texts = ['kind', 'apiVersion'].filter((key) => isObject && (properties[key]?.type ?? 'string') !== 'string')
    const { metadata } = properties
    const isEmpty = embeddedResource === true && preserveUnknownFields !== true && Object.keys(properties).length === 0
    const why = `must not be empty if ${this.#extension('embedded-resource')} is true without ${this.#extension('preserve-unknown-fields')}`
    return [
      ...texts.map((key) => invalidField(`${path}.properties[${key}].type`, properties[key]?.type, 'must be string')),
      ...(metadata === undefined || !isObject
        ? []
        : checkMetadata(metadata, level === 'root', `${path}.properties[metadata]`)),
      ...(isEmpty ? [requiredField(`${path}.properties`, why)] : []),
    ]
  }

  #checkValueRules(
    { allOf = [], anyOf = [], oneOf = [], not, pattern }: Schema,
    path: string,
    skips: { readonly skipsAnyOf: boolean; readonly skipsFirstAllOf: boolean },
  ): readonly FieldError[] {
    const problem = pattern === undefined ? undefined : patternProblem(pattern)
    return [
      ...(skips.skipsAnyOf ? [] : anyOf.flatMap((each, index) => this.#checkNested(each, `${path}.anyOf[${index}]`))),
      ...allOf.flatMap((each, index) =>
        this.#checkNested(each, `${path}.allOf[${index}]`, skips.skipsFirstAllOf && index === 0),
      ),
      ...oneOf.flatMap((each, index) => this.#checkNested(each, `${path}.oneOf[${index}]`)),
      ...(not === undefined ? [] : this.#checkNested(not, `${path}.not`)),
      ...(problem === undefined
        ? []
        : [invalidField(`${path}.pattern`, pattern, `must be a valid regular expression, but isn't: ${problem}`)]),
    ]
  }

  /** Checks a schema inside allOf, anyOf, oneOf or not, which may hold value rules only. */
  #checkNested(part: Schema, path: string, skipsAnyOf = false): readonly FieldError[] {
    const { items, properties = {} } = part
    return [
      ...this.#checkValueRules(part, path, { skipsAnyOf, skipsFirstAllOf: false }),
      ...(items === undefined ? [] : this.#checkNested(items, `${path}.items`)),
      ...Object.entries(properties).flatMap(([key, each]) => this.#checkNested(each, `${path}.properties[${key}]`)),
      ...forbiddenInside
        .filter(([keyword]) => isStated(part[keyword]))
        .map(([keyword, name, why]) =>
          forbiddenField(`${path}.${name ?? this.#extension(extensions[keyword] ?? '')}`, why),
        ),
      ...(properties['metadata'] === undefined
        ? []
        : [forbiddenField(`${path}.properties[metadata]`, 'must not be specified in a nested context')]),
    ]
  }
}

/** Checks whether a keyword is present; an empty list counts as absent. */
function isStated(value: unknown): boolean {
  return value !== undefined && !(Array.isArray(value) && value.length === 0)
}

/** Checks for `additionalProperties: true` or `false`, which are no schemas with a type. */
function isAnswer(schema: Schema): boolean {
  return schema === anyProperty || schema === noProperty
}

function checkMetadata(schema: Schema, isRoot: boolean, path: string): readonly FieldError[] {
  const { type, properties = {}, default: _, ...rest } = schema
  const names = Object.keys(properties)
  const isPlain = Object.keys(rest).length === 0 && names.every((key) => key === 'name' || key === 'generateName')
  const why = 'must not specify anything other than name and generateName, but metadata is implicitly specified'
  return [
    ...(type === 'object' ? [] : [invalidField(`${path}.type`, type ?? '', 'must be object')]),
    ...(isRoot && !isPlain ? [forbiddenField(path, why)] : []),
  ]
}

const empty = 'must be empty to be structural'
const absent = 'must be undefined to be structural'
const off = 'must be false to be structural'

const forbiddenInside = [
  ['type', 'type', empty],
  ['additionalProperties', 'additionalProperties', absent],
  ['default', 'default', absent],
  ['title', 'title', empty],
  ['description', 'description', empty],
  ['nullable', 'nullable', off],
  ['preserveUnknownFields', undefined, off],
  ['embeddedResource', undefined, off],
  ['intOrString', undefined, off],
  ['listMapKeys', undefined, empty],
  ['listType', undefined, absent],
  ['mapType', undefined, absent],
  ['validations', undefined, empty],
] as const

const extensions: Readonly<Record<string, string>> = {
  preserveUnknownFields: 'preserve-unknown-fields',
  embeddedResource: 'embedded-resource',
  intOrString: 'int-or-string',
  listMapKeys: 'list-map-keys',
  listType: 'list-type',
  mapType: 'map-type',
  validations: 'validations',
}

/** Checks that each field with a rule inside a composition is also declared outside of it. */
function checkComplete(
  part: Schema,
  outside: Schema | undefined,
  path: string,
  partPath: string,
): readonly FieldError[] {
  const { allOf = [], anyOf = [], oneOf = [], not } = part
  const lists = Object.entries({ allOf, anyOf, oneOf }).flatMap(([keyword, schemas]) => {
    return schemas.map((each, index) => [each, `${partPath}.${keyword}[${index}]`] as const)
  })
  const nested = not === undefined ? lists : [[not, `${partPath}.not`] as const, ...lists]
  return nested.flatMap(([each, where]) => checkNestedComplete(each, outside, path, where))
}

function checkNestedComplete(
  part: Schema,
  outside: Schema | undefined,
  path: string,
  partPath: string,
): readonly FieldError[] {
  if (outside === undefined) return [requiredField(path, `because it is defined in ${partPath}`)]
  const { items, properties = {} } = part
  return [
    ...checkComplete(part, outside, path, partPath),
    ...(items === undefined ? [] : checkNestedComplete(items, outside.items, `${path}.items`, `${partPath}.items`)),
    ...Object.entries(properties).flatMap(([key, each]) => {
      const step = `.properties[${key}]`
      const declared = Object.hasOwn(outside.properties ?? {}, key) ? outside.properties?.[key] : undefined
      return checkNestedComplete(each, declared, `${path}${step}`, `${partPath}${step}`)
    }),
  ]
}
