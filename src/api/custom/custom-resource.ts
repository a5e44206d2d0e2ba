import type { Dialect } from '../../model/dialect.ts'
import { RuleChecker } from '../cel/check-rules.ts'
import { holdsRules } from '../cel/compile-rules.ts'
import { type ApiDocument, objectAt, textAt, valueAt, without } from '../document.ts'
import {
  apiVersionOf,
  type FieldPath,
  type Resource,
  type ScalePaths,
  type Strategy,
  type Subresource,
} from '../resources/resource.ts'
import { metadataSchema, objectFields } from '../schema/built-in-schema.ts'
import { coerceStructural } from '../schema/coerce-structural.ts'
import type { FieldError } from '../schema/field-error.ts'
import { parseSchema } from '../schema/parse-schema.ts'
import type { Schema } from '../schema/schema.ts'
import { Validator } from '../schema/validate.ts'
import { forbidden } from '../status.ts'
import type { Definition, DefinitionVersion } from './definition.ts'
import { printerColumns } from './printer-columns.ts'

/** Returns the resources of a definition: one for each served version, all of them views of the same stored objects. */
export function customResources(definition: Definition, dialect: Dialect): readonly Resource[] {
  const stored = definition.versions.find(({ isStorage }) => isStorage)
  if (stored === undefined || !definition.isEstablished) return []
  const served = definition.versions.filter(({ isServed }) => isServed)
  return served.map((version) => customResource(definition, version, stored.name, dialect))
}

/** Returns the resource of the instances in their storage version, whether or not that version is served. */
export function storedResource(definition: Definition, dialect: Dialect): Resource | undefined {
  const stored = definition.versions.find(({ isStorage }) => isStorage)
  return stored === undefined ? undefined : customResource(definition, stored, stored.name, dialect)
}

function customResource(
  definition: Definition,
  version: DefinitionVersion,
  stored: string,
  dialect: Dialect,
): Resource {
  const { group, names } = definition
  const scale = scalePaths(version)
  const { schema: stated } = parseSchema(version.schema, '')
  const schema = instanceSchema(stated)
  const { plural, singular, kind, listKind, shortNames, categories } = names
  return {
    group,
    version: version.name,
    plural,
    singular,
    kind,
    ...(listKind === '' ? {} : { listKind }),
    shortNames,
    categories,
    namespaced: definition.isNamespaced,
    subresources: subresourcesOf(version, scale),
    schema,
    isCustom: true,
    isTerminating: definition.isTerminating,
    countsGeneration: true,
    selectableFields: Object.fromEntries(
      version.selectableFields.map((path) => [path.slice(1), readText(fieldPath(path))]),
    ),
    columns: printerColumns(version.printerColumns),
    hidesAge: version.printerColumns.length > 0,
    strategy: instanceStrategy(
      definition,
      instanceValidator(schema, stated.properties?.['metadata'], dialect),
      dialect,
      ruleCheck(stated),
    ),
    storage: {
      prefix: `${group}/${plural}`,
      apiVersion: apiVersionOf({ group, version: stored }),
      conversion: { toStored: (document) => document, fromStored: (document) => readStored(schema, document) },
    },
    ...(scale === undefined ? {} : { scale }),
    ...(version.deprecation === undefined ? {} : { deprecation: version.deprecation }),
  }
}

function subresourcesOf({ subresources }: DefinitionVersion, scale: ScalePaths | undefined): readonly Subresource[] {
  return [
    ...(subresources['status'] === undefined ? [] : ['status' as const]),
    ...(scale === undefined ? [] : ['scale' as const]),
  ]
}

function scalePaths({ subresources }: DefinitionVersion): ScalePaths | undefined {
  if (subresources['scale'] === undefined) return undefined
  const scale = objectAt(subresources, 'scale')
  const selector = textAt(scale, 'labelSelectorPath')
  return {
    specReplicas: fieldPath(textAt(scale, 'specReplicasPath')),
    statusReplicas: fieldPath(textAt(scale, 'statusReplicasPath')),
    ...(selector === '' ? {} : { labelSelector: fieldPath(selector) }),
  }
}

/** Parses a path such as `.spec.replicas`. */
function fieldPath(path: string): FieldPath {
  return path.slice(1).split('.')
}

function readText(path: FieldPath): (document: ApiDocument) => string {
  return (document) => textAt(document, ...path)
}

/** Returns the definition's schema with the fields that every object has. */
function instanceSchema(stated: Schema): Schema {
  const properties = { ...objectFields, ...stated.properties, metadata: metadataSchema() }
  return { ...stated, properties }
}

/** Reads a stored object by the current schema, even when an earlier schema was in force at its write. */
function readStored(schema: Schema, document: ApiDocument): ApiDocument {
  const { metadata, ...fields } = document
  const { value } = coerceStructural(schema, { ...fields, metadata: {} })
  return { ...value, kind: document.kind, apiVersion: document.apiVersion, metadata }
}

/** Returns the strategy of the instances. A PUT of a status needs no resourceVersion in the platform dialect (spec 4.1, "Replace status"). */
function instanceStrategy(
  definition: Definition,
  validate: InstanceValidator,
  dialect: Dialect,
  checkRules: Strategy['checkRules'],
): Strategy {
  return {
    needsRevision: dialect.name === 'platform' ? 'object' : 'object-and-status',
    statusLeaves: 'metadata',
    validate,
    ...(checkRules === undefined ? {} : { checkRules }),
    prepareForCreate: (document) => {
      assertOpen(definition, document)
      return document
    },
  }
}

function ruleCheck(schema: Schema): Strategy['checkRules'] {
  if (!holdsRules(schema)) return undefined
  const checker = new RuleChecker(schema)
  return (document, old) => checker.check(document, old)
}

type InstanceValidator = (document: ApiDocument, old: ApiDocument | undefined) => readonly FieldError[]

/**
 * Returns the validator of the instances. In the platform dialect it validates `spec` and `status`, each by its own schema (spec 2.2, rule 1); in the
 * kubernetes dialect the whole object. A schema's rules for `metadata.name` and `generateName` apply in both.
 */
function instanceValidator(schema: Schema, metadata: Schema | undefined, dialect: Dialect): InstanceValidator {
  const ofContent = dialect.name === 'kubernetes' ? wholeValidator(schema) : partsValidator(schema, ['spec', 'status'])
  const ofNames = partsValidator({ properties: metadata === undefined ? {} : { metadata } }, ['metadata'])
  return (document, old) => [...ofNames(document, old), ...ofContent(document, old)]
}

function wholeValidator(schema: Schema): InstanceValidator {
  const root = new Validator(rootSchema(schema))
  return (document, old) => root.validate(without(document, 'metadata'), '', old && without(old, 'metadata'))
}

function partsValidator({ properties = {} }: Schema, fields: readonly string[]): InstanceValidator {
  const parts = fields.flatMap((field) => {
    const part = properties[field]
    return part === undefined ? [] : [{ field, validator: new Validator(part) }]
  })
  return (document, old) => {
    return parts.flatMap(({ field, validator }) => {
      const value = valueAt(document, field)
      return value === undefined ? [] : validator.validate(value, field, valueAt(old, field))
    })
  }
}

/** Returns the schema of the root without metadata, which the rules of every kind check. */
function rootSchema({ properties = {}, required = [], ...schema }: Schema): Schema {
  const { metadata: _, ...rest } = properties
  return { ...schema, properties: rest, required: required.filter((field) => field !== 'metadata') }
}

function assertOpen({ group, names, isTerminating }: Definition, document: ApiDocument): void {
  if (!isTerminating) return
  const resource = { group, plural: names.plural, kind: names.kind }
  throw forbidden(
    resource,
    document.metadata.name ?? '',
    'create not allowed while custom resource definition is terminating',
  )
}
