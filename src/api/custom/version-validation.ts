import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import { type Dialect, schemaExtension, spellSchemaExtension } from '../../model/dialect.ts'
import { checkSchemaRules } from '../cel/check-definition.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt, valueAt } from '../document.ts'
import { type FieldError, forbiddenField, invalidField, requiredField } from '../schema/field-error.ts'
import { checkDns1035Label } from '../schema/names.ts'
import { parseSchema } from '../schema/parse-schema.ts'
import type { Schema } from '../schema/schema.ts'
import { checkStructural } from '../schema/structural.ts'
import { validateSelectable } from './selectable-fields.ts'

/** Returns all errors of a definition's versions. `old` are the previous versions: their schemas stay accepted. */
export function validateVersions(
  versions: readonly Json[],
  old: readonly Json[],
  dialect: Dialect,
): readonly FieldError[] {
  const names = versions.map((version) => textAt(version, 'name'))
  const storage = versions.filter((version) => objectAt(version)['storage'] === true).length
  const isTwice = new Set(names).size < names.length
  return [
    ...versions.flatMap((version, index) => validateVersion(version, `spec.versions[${index}]`)),
    ...placedParts(versions, 'schema', 'spec.validation').flatMap(([versionsOfPart, path]) =>
      isSchemaKept(versionsOfPart, old) ? [] : validateSchemaOf(versionsOfPart, path, dialect, old),
    ),
    ...placedParts(versions, 'subresources', 'spec.subresources').flatMap(([[version], path]) =>
      validateScale(version, `${path}.scale`),
    ),
    ...placedParts(versions, 'additionalPrinterColumns', 'spec.additionalPrinterColumns').flatMap(([[version], path]) =>
      validateColumns(listAt(version, 'additionalPrinterColumns'), path),
    ),
    ...placedParts(versions, 'selectableFields', 'spec.selectableFields').flatMap(([[version], path]) =>
      validateSelectable(version, path),
    ),
    ...(isTwice ? [invalidField('spec.versions', names, 'must contain unique version names')] : []),
    ...(storage === 1
      ? []
      : [invalidField('spec.versions', names, 'must have exactly one version marked as storage version')]),
  ]
}

/** Returns warnings about parts of the schemas that have no effect. */
export function definitionWarnings(document: ApiDocument): readonly string[] {
  return placedParts(listAt(document['spec'], 'versions'), 'schema', 'spec.validation').flatMap(([[version], path]) => {
    return parseSchema(objectAt(version, 'schema', 'openAPIV3Schema'), `${path}.openAPIV3Schema`).warnings
  })
}

/** Versions that share a part of their definition, and the path by which errors name it. */
type PlacedPart = readonly [versions: readonly Json[], path: string]

/** Places a part. A part that is equal in all versions has one path, that of the internal form of Kubernetes (its v1beta1). */
function placedParts(versions: readonly Json[], part: string, sharedPath: string): readonly PlacedPart[] {
  const [first, ...more] = versions
  if (first === undefined) return []
  const isShared = more.every((version) => isDeepStrictEqual(valueAt(version, part), valueAt(first, part)))
  if (isShared) return [[versions, sharedPath]]
  return versions.map((version, index) => [[version], `spec.versions[${index}].${part}`])
}

function validateVersion(version: Json, path: string): readonly FieldError[] {
  const name = textAt(version, 'name')
  const problem = checkDns1035Label(name)
  return [
    ...(problem === undefined ? [] : [invalidField(`${path}.name`, name, problem)]),
    ...validateDeprecation(version, `${path}.deprecationWarning`),
    ...(isJsonObject(valueAt(version, 'schema', 'openAPIV3Schema'))
      ? []
      : [requiredField(`${path}.schema.openAPIV3Schema`)]),
  ]
}

const maxWarningLength = 256

/** Checks the deprecation warning: it is sent in a header to clients that use a deprecated version. */
function validateDeprecation(version: Json, path: string): readonly FieldError[] {
  const warning = valueAt(version, 'deprecationWarning')
  if (typeof warning !== 'string') return []
  const problems =
    valueAt(version, 'deprecated') === true ? warningProblems(warning) : ['can only be set for deprecated versions']
  return problems.map((why) => invalidField(path, warning, why))
}

function warningProblems(warning: string): readonly string[] {
  const { index } = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(warning) ?? {}
  const start = index === undefined ? '' : warning.slice(0, index)
  const why = 'must only contain printable UTF-8 characters; non-printable character found at index'
  return [
    ...(Buffer.byteLength(warning) > maxWarningLength ? [`must be <= ${maxWarningLength} characters long`] : []),
    ...(warning === '' ? ['must not be an empty string'] : []),
    ...(index === undefined ? [] : [`${why} ${Buffer.byteLength(start)}`]),
  ]
}

/** Checks whether the schemas were accepted before: such a definition can still be changed elsewhere, and deleted. */
function isSchemaKept(versions: readonly Json[], old: readonly Json[]): boolean {
  return versions.every((version) => {
    const before = old.find((each) => textAt(each, 'name') === textAt(version, 'name'))
    return before !== undefined && isDeepStrictEqual(valueAt(before, 'schema'), valueAt(version, 'schema'))
  })
}

function validateSchemaOf(
  versions: readonly Json[],
  path: string,
  dialect: Dialect,
  old: readonly Json[],
): readonly FieldError[] {
  const raw = valueAt(versions[0], 'schema', 'openAPIV3Schema')
  if (!isJsonObject(raw)) return []
  const where = `${path}.openAPIV3Schema`
  const hasStatus = versions.some((version) => isJsonObject(valueAt(version, 'subresources', 'status')))
  const { schema, errors } = parseSchema(raw, where)
  return [
    ...(hasStatus ? validateRootKeywords(raw, where) : []),
    ...(schema.nullable === true ? [forbiddenField(`${where}.nullable`, 'nullable cannot be true at the root')] : []),
    ...(errors.length > 0 ? errors : checkSchema(schema, where, dialect, old)),
  ]
}

/** Checks a schema. It compiles the rules only when the rest is valid: their types come from the schema. */
function checkSchema(schema: Schema, path: string, dialect: Dialect, old: readonly Json[]): readonly FieldError[] {
  const { structure, rules } = checkStructural(schema, path, (name) => spellSchemaExtension(dialect, name))
  const known = new Set(old.flatMap((version) => ruleExpressions(valueAt(version, 'schema', 'openAPIV3Schema'))))
  const others = { isStructural: structure.length === 0, errors: rules }
  return [...structure, ...rules, ...checkSchemaRules(schema, path, others, (expression) => known.has(expression))]
}

/** Returns the expressions at every level of a schema. */
function ruleExpressions(raw: Json | undefined): readonly string[] {
  if (Array.isArray(raw)) return (raw as readonly Json[]).flatMap(ruleExpressions)
  if (!isJsonObject(raw)) return []
  const own = [raw['rule'], raw['messageExpression']].filter((each) => typeof each === 'string')
  return [...own, ...Object.values(raw).flatMap(ruleExpressions)]
}

const rootKeywords = [
  ...['description', 'type', 'format', 'title', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  ...['maxLength', 'minLength', 'pattern', 'maxItems', 'minItems', 'uniqueItems', 'multipleOf', 'required', 'items'],
  ...['properties', 'externalDocs', 'example'],
]
const rootExtensions = ['preserve-unknown-fields', 'validations']

/** Refuses keywords at the root beside a status subresource: `status` is validated alone, so what relates it to other fields would never apply. */
function validateRootKeywords(raw: JsonObject, path: string): readonly FieldError[] {
  const wrong = Object.keys(raw).find((keyword) => {
    const extension = schemaExtension(keyword)
    return extension === undefined ? !rootKeywords.includes(keyword) : !rootExtensions.includes(extension)
  })
  const why = `only [${[...rootKeywords, ...rootExtensions].join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`
  return wrong === undefined ? [] : [invalidField(path, wrong, why)]
}

function validateScale(version: Json | undefined, path: string): readonly FieldError[] {
  const scale = objectAt(version, 'subresources')['scale']
  if (scale === undefined) return []
  const selector = textAt(scale, 'labelSelectorPath')
  return [
    ...validateReplicasPath(textAt(scale, 'specReplicasPath'), 'spec', `${path}.specReplicasPath`),
    ...validateReplicasPath(textAt(scale, 'statusReplicasPath'), 'status', `${path}.statusReplicasPath`),
    ...(selector === '' ? [] : validateSelectorPath(selector, `${path}.labelSelectorPath`)),
  ]
}

function validateReplicasPath(value: string, root: 'spec' | 'status', field: string): readonly FieldError[] {
  if (value === '') return [requiredField(field)]
  if (!value.startsWith('.')) return [invalidField(field, value, notSimplePath)]
  return value.startsWith(`.${root}.`) ? [] : [invalidField(field, value, `should be a json path under .${root}`)]
}

function validateSelectorPath(value: string, field: string): readonly FieldError[] {
  if (!value.startsWith('.')) return [invalidField(field, value, notSimplePath)]
  const isRight = /^\.(spec|status)\./.test(value)
  return isRight ? [] : [invalidField(field, value, 'should be a json path under either .spec or .status')]
}

const notSimplePath = 'must be a simple json path starting with .'
const columnTypes = ['boolean', 'date', 'integer', 'number', 'string']
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']

function validateColumns(columns: readonly Json[], path: string): readonly FieldError[] {
  return columns.flatMap((column, index) => validateColumn(column, `${path}[${index}]`))
}

function validateColumn(column: Json, path: string): readonly FieldError[] {
  const [type, format, jsonPath] = [textAt(column, 'type'), textAt(column, 'format'), textAt(column, 'jsonPath')]
  const wrongType = `must be one of ${columnTypes.join(',')}`
  const wrongFormat = `must be one of ${columnFormats.join(',')}`
  return [
    ...(textAt(column, 'name') === '' ? [requiredField(`${path}.name`)] : []),
    ...(type === '' ? [requiredField(`${path}.type`, wrongType)] : []),
    ...(type === '' || columnTypes.includes(type) ? [] : [invalidField(`${path}.type`, type, wrongType)]),
    ...(format === '' || columnFormats.includes(format) ? [] : [invalidField(`${path}.format`, format, wrongFormat)]),
    ...(jsonPath === '' ? [requiredField(`${path}.JSONPath`)] : []),
    ...(jsonPath === '' || jsonPath.startsWith('.') ? [] : [invalidField(`${path}.JSONPath`, jsonPath, notSimplePath)]),
  ]
}
