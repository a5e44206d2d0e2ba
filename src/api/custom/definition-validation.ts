import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, listAt, objectAt, textAt, valueAt } from '../document.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../schema/field-error.ts'
import { checkDns1035Label, checkDnsSubdomain } from '../schema/names.ts'
import { readDefinition } from './definition.ts'
import { validateVersions } from './version-validation.ts'

/** Returns all errors of a definition. An update does not check again what it leaves unchanged and what was accepted before. */
export function validateDefinition(
  document: ApiDocument,
  old: ApiDocument | undefined,
  dialect: Dialect,
): readonly FieldError[] {
  return [
    ...(isDeepStrictEqual(document['spec'], old?.['spec']) ? [] : validateSpec(document, old, dialect)),
    ...validateStoredVersions(document),
    ...(dialect.name === 'kubernetes' ? validateApproval(document, old) : []),
  ]
}

const approval = 'api-approved.kubernetes.io'

/** Checks the groups of the Kubernetes community: they need an annotation of approval, or one that says it is missing (KEP-1111). */
function validateApproval(document: ApiDocument, old: ApiDocument | undefined): readonly FieldError[] {
  const state = approvalState(document)
  const isCommunity = /(?:^|\.)(?:k8s|kubernetes)\.io$/.test(textAt(document['spec'], 'group'))
  if (!isCommunity || state === 'good' || (old !== undefined && approvalState(old) === state)) return []
  const path = `metadata.annotations[${approval}]`
  const why = `protected groups must have approval annotation "${approval}"`
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111'
  const how = 'with either a URL or a reason starting with "unapproved"'
  const { annotations = {} } = document.metadata
  return state === 'missing'
    ? [requiredField(path, `${why}, ${see}`)]
    : [invalidField(path, annotations[approval], `${why} ${how}, ${see}`)]
}

function approvalState({ metadata: { annotations = {} } }: ApiDocument): 'missing' | 'good' | 'bad' {
  const value = annotations[approval] ?? ''
  if (value === '') return 'missing'
  return value.startsWith('unapproved') || URL.parse(value)?.host ? 'good' : 'bad'
}

function validateSpec(document: ApiDocument, old: ApiDocument | undefined, dialect: Dialect): readonly FieldError[] {
  const { spec } = document
  return [
    ...validateGroup(textAt(spec, 'group')),
    ...validateScope(textAt(spec, 'scope')),
    ...(old === undefined ? validateOwnName(document) : []),
    ...validateNames(objectAt(spec, 'names')),
    ...validateVersions(listAt(spec, 'versions'), listAt(old?.['spec'], 'versions'), dialect),
    ...validateConversion(objectAt(spec, 'conversion')),
    ...(valueAt(old?.['spec'], 'preserveUnknownFields') === true
      ? []
      : validatePreserving(valueAt(spec, 'preserveUnknownFields'))),
  ]
}

/** Checks an update: the group and the plural form the definition's name; the scope and the kind are fixed once instances can exist. */
export function validateDefinitionUpdate(document: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const fixed = readDefinition(old).isEstablished
    ? [['scope'], ['names', 'kind'], ['group'], ['names', 'plural']]
    : [['group'], ['names', 'plural']]
  return fixed
    .filter((path) => textAt(document['spec'], ...path) !== textAt(old['spec'], ...path))
    .map((path) => invalidField(`spec.${path.join('.')}`, textAt(document['spec'], ...path), 'field is immutable'))
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

function validateOwnName({ metadata, spec }: ApiDocument): readonly FieldError[] {
  const expected = `${textAt(spec, 'names', 'plural')}.${textAt(spec, 'group')}`
  if (metadata.name === expected) return []
  return [invalidField('metadata.name', metadata.name, 'must be spec.names.plural+"."+spec.group')]
}

function validateNames(names: JsonObject): readonly FieldError[] {
  return [
    ...['plural', 'singular', 'kind', 'listKind'].flatMap((field) =>
      validateName(`spec.names.${field}`, textAt(names, field)),
    ),
    ...['shortNames', 'categories'].flatMap((field) => {
      return listAt(names, field).flatMap((name, index) => validateName(`spec.names.${field}[${index}]`, String(name)))
    }),
    ...validateKinds(textAt(names, 'kind'), textAt(names, 'listKind')),
  ]
}

/** Checks a name. Kinds follow the rule of all names after conversion to lower case. */
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

function validateConversion(conversion: JsonObject): readonly FieldError[] {
  const path = 'spec.conversion'
  const strategy = textAt(conversion, 'strategy')
  if (strategy === '') return [requiredField(`${path}.strategy`)]
  if (strategy !== 'None') return [unsupportedField(`${path}.strategy`, strategy, ['None'])]
  const why = 'should not be set when strategy is not set to Webhook'
  const { webhook } = conversion
  return [
    ...(valueAt(webhook, 'clientConfig') === undefined ? [] : [forbiddenField(`${path}.webhookClientConfig`, why)]),
    ...(listAt(webhook, 'conversionReviewVersions').length === 0
      ? []
      : [forbiddenField(`${path}.conversionReviewVersions`, why)]),
  ]
}

function validatePreserving(value: Json | undefined): readonly FieldError[] {
  if (value !== true) return []
  const why = 'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead'
  return [invalidField('spec.preserveUnknownFields', true, why)]
}

function validateStoredVersions({ spec, status }: ApiDocument): readonly FieldError[] {
  const path = 'status.storedVersions'
  const stored = listAt(status, 'storedVersions').map(String)
  const versions = listAt(spec, 'versions')
  const names = versions.map((version) => textAt(version, 'name'))
  const storage = versions
    .filter((version) => valueAt(version, 'storage') === true)
    .map((version) => textAt(version, 'name'))
  return [
    ...(stored.length === 0 ? [] : storage.filter((name) => !stored.includes(name))).map((name) =>
      invalidField(path, stored, `must have the storage version ${name}`),
    ),
    ...stored.flatMap((name, index) =>
      names.includes(name) ? [] : [invalidField(`${path}[${index}]`, name, stillStored(name))],
    ),
  ]
}

function stillStored(name: string): string {
  return `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`
}
