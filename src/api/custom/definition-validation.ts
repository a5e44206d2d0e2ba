import type { Json } from '../../model/api-object.ts'
import { type ApiDocument, isJsonObject, listAt, objectAt, textAt } from '../document.ts'
import { checkDns1035Label, checkDnsSubdomain } from '../resources/names.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../schema/field-error.ts'
import { parseSchema } from '../schema/parse-schema.ts'
import { checkStructural } from '../schema/structural.ts'

const maxSelectableFields = 8

/** Everything that must hold for a definition by itself. */
export function validateDefinition(document: ApiDocument): readonly FieldError[] {
  const { spec } = document
  return [
    ...validateGroup(textAt(spec, 'group')),
    ...validateScope(textAt(spec, 'scope')),
    ...validateNames(document),
    ...validateVersions(listAt(spec, 'versions')),
    ...validateConversion(textAt(spec, 'conversion', 'strategy')),
    ...validateStoredVersions(document),
  ]
}

/** What may not change while there are instances. */
export function validateDefinitionUpdate(document: ApiDocument, old: ApiDocument): readonly FieldError[] {
  return [['group'], ['scope'], ['names', 'plural'], ['names', 'kind']]
    .filter((path) => textAt(document['spec'], ...path) !== textAt(old['spec'], ...path))
    .map((path) => invalidField(`spec.${path.join('.')}`, textAt(document['spec'], ...path), 'field is immutable'))
}

/** What of the schemas has no effect. */
export function definitionWarnings(document: ApiDocument): readonly string[] {
  const versions = listAt(document['spec'], 'versions')
  return versions.flatMap((version, index) => {
    return parseSchema(objectAt(version, 'schema', 'openAPIV3Schema'), schemaPath(versions, index)).warnings
  })
}

function validateGroup(group: string): readonly FieldError[] {
  if (group === '') return [requiredField('spec.group')]
  const problem = checkDnsSubdomain(group)
  if (problem !== undefined) return [invalidField('spec.group', group, problem)]
  return group.includes('.') ? [] : [invalidField('spec.group', group, 'should be a domain with at least one dot')]
}

function validateScope(scope: string): readonly FieldError[] {
  const scopes = ['Cluster', 'Namespaced']
  if (scope === '') return [requiredField('spec.scope')]
  return scopes.includes(scope) ? [] : [unsupportedField('spec.scope', scope, scopes)]
}

function validateNames(document: ApiDocument): readonly FieldError[] {
  const { spec } = document
  const names = objectAt(spec, 'names')
  const plural = textAt(names, 'plural')
  const expected = `${plural}.${textAt(spec, 'group')}`
  const isNameRight = document.metadata.name === expected
  return [
    ...(isNameRight
      ? []
      : [invalidField('metadata.name', document.metadata.name, `must be spec.names.plural+"."+spec.group`)]),
    ...['plural', 'singular', 'kind', 'listKind'].flatMap((field) =>
      validateName(`spec.names.${field}`, textAt(names, field)),
    ),
    ...['shortNames', 'categories'].flatMap((field) => {
      return listAt(names, field).flatMap((name, index) => validateName(`spec.names.${field}[${index}]`, String(name)))
    }),
    ...validateKinds(textAt(names, 'kind'), textAt(names, 'listKind')),
  ]
}

/** Kinds have the rule of all names, whatever their case. */
function validateName(field: string, name: string): readonly FieldError[] {
  if (name === '') return [requiredField(field)]
  const isKind = field.endsWith('ind')
  const problem = checkDns1035Label(isKind ? name.toLowerCase() : name)
  return problem === undefined
    ? []
    : [invalidField(field, name, isKind ? `may have mixed case, but should otherwise match: ${problem}` : problem)]
}

function validateKinds(kind: string, listKind: string): readonly FieldError[] {
  if (kind === '' || kind !== listKind) return []
  return [invalidField('spec.names.listKind', listKind, 'kind and listKind may not be the same')]
}

function validateConversion(strategy: string): readonly FieldError[] {
  if (strategy === 'None') return []
  return [unsupportedField('spec.conversion.strategy', strategy, ['None'])]
}

function validateVersions(versions: readonly Json[]): readonly FieldError[] {
  const names = versions.map((version) => textAt(version, 'name'))
  const storage = versions.filter((version) => objectAt(version)['storage'] === true).length
  const firsts = new Map(names.map((name, index) => [name, index] as const).toReversed())
  const isTwice = (name: string, index: number) => firsts.get(name) !== index
  return [
    ...(versions.length === 0 ? [requiredField('spec.versions', 'must have at least one version')] : []),
    ...names.flatMap((name, index) =>
      isTwice(name, index) ? [duplicateField(`spec.versions[${index}].name`, name)] : [],
    ),
    ...(storage === 1
      ? []
      : [invalidField('spec.versions', names, 'must have exactly one version marked as storage version')]),
    ...versions.flatMap((version, index) =>
      validateVersion(version, `spec.versions[${index}]`, schemaPath(versions, index)),
    ),
  ]
}

/** Where all versions share one schema, its errors are said of that one. */
function schemaPath(versions: readonly Json[], index: number): string {
  const isOnly = versions.length === 1
  return isOnly ? 'spec.validation.openAPIV3Schema' : `spec.versions[${index}].schema.openAPIV3Schema`
}

function validateVersion(version: Json, path: string, pathOfSchema: string): readonly FieldError[] {
  const name = textAt(version, 'name')
  const problem = name === '' ? undefined : checkDns1035Label(name)
  const schema = objectAt(version, 'schema')['openAPIV3Schema']
  return [
    ...(name === '' ? [requiredField(`${path}.name`)] : []),
    ...(problem === undefined ? [] : [invalidField(`${path}.name`, name, problem)]),
    ...(isJsonObject(schema)
      ? validateSchema(schema, pathOfSchema)
      : [requiredField(`${path}.schema.openAPIV3Schema`, 'schemas are required')]),
    ...validateScale(version, `${path}.subresources.scale`),
    ...validateColumns(listAt(version, 'additionalPrinterColumns'), `${path}.additionalPrinterColumns`),
    ...validateSelectable(listAt(version, 'selectableFields'), `${path}.selectableFields`),
  ]
}

function validateSchema(raw: Json, path: string): readonly FieldError[] {
  const { schema, errors } = parseSchema(raw, path)
  return errors.length > 0 ? errors : checkStructural(schema, path)
}

function validateScale(version: Json, path: string): readonly FieldError[] {
  const scale = objectAt(version, 'subresources')['scale']
  if (scale === undefined) return []
  return [
    ...validateScalePath(textAt(scale, 'specReplicasPath'), 'spec', `${path}.specReplicasPath`),
    ...validateScalePath(textAt(scale, 'statusReplicasPath'), 'status', `${path}.statusReplicasPath`),
    ...validateSelectorPath(textAt(scale, 'labelSelectorPath'), `${path}.labelSelectorPath`),
  ]
}

function validateScalePath(value: string, root: 'spec' | 'status', field: string): readonly FieldError[] {
  if (value === '') return [requiredField(field)]
  if (isPlainPath(value) && value.startsWith(`.${root}.`)) return []
  return [invalidField(field, value, `should be a json path under .${root}`)]
}

function validateSelectorPath(value: string, field: string): readonly FieldError[] {
  const isRight = value === '' || (isPlainPath(value) && /^\.(spec|status)\./.test(value))
  return isRight ? [] : [invalidField(field, value, 'should be a json path under either .spec or .status')]
}

function isPlainPath(path: string): boolean {
  return /^(?:\.[A-Za-z0-9_-]+)+$/.test(path)
}

const columnTypes = ['integer', 'number', 'string', 'boolean', 'date']

function validateColumns(columns: readonly Json[], path: string): readonly FieldError[] {
  return columns.flatMap((column, index) => {
    const where = `${path}[${index}]`
    const type = textAt(column, 'type')
    const jsonPath = textAt(column, 'jsonPath')
    return [
      ...(textAt(column, 'name') === '' ? [requiredField(`${where}.name`)] : []),
      ...(type === '' ? [requiredField(`${where}.type`)] : []),
      ...(type === '' || columnTypes.includes(type) ? [] : [unsupportedField(`${where}.type`, type, columnTypes)]),
      ...(jsonPath === '' ? [requiredField(`${where}.jsonPath`)] : []),
      ...(jsonPath === '' || jsonPath.startsWith('.')
        ? []
        : [invalidField(`${where}.jsonPath`, jsonPath, 'must be a simple json path starting with .')]),
    ]
  })
}

function validateSelectable(fields: readonly Json[], path: string): readonly FieldError[] {
  const paths = fields.map((field) => textAt(field, 'jsonPath'))
  return [
    ...(paths.length > maxSelectableFields
      ? [invalidField(path, paths.length, `must have at most ${maxSelectableFields} items`)]
      : []),
    ...paths.flatMap((value, index) => {
      return isPlainPath(value) ? [] : [invalidField(`${path}[${index}].jsonPath`, value, 'must be a simple json path')]
    }),
  ]
}

function validateStoredVersions({ spec, status }: ApiDocument): readonly FieldError[] {
  const stored = listAt(status, 'storedVersions').map(String)
  const versions = listAt(spec, 'versions')
  const names = new Set(versions.map((version) => textAt(version, 'name')))
  const missing = stored.flatMap((name, index) => {
    return names.has(name)
      ? []
      : [invalidField(`status.storedVersions[${index}]`, name, 'must appear in spec.versions')]
  })
  const storage = textAt(
    versions.find((version) => objectAt(version)['storage'] === true),
    'name',
  )
  const isKept = stored.length === 0 || stored.includes(storage)
  return isKept
    ? missing
    : [...missing, forbiddenField('status.storedVersions', `must have the storage version ${storage}`)]
}
