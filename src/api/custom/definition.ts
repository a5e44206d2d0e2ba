import type { Json, JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../document.ts'

/** The names of a definition's resource, in the form of its `spec.names` and `status.acceptedNames`. */
export interface DefinitionNames {
  readonly plural: string
  readonly singular: string
  readonly kind: string
  readonly listKind: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
}

export interface DefinitionVersion {
  readonly name: string
  readonly isServed: boolean
  readonly isStorage: boolean
  /** The schema; `{}` when the definition has none. */
  readonly schema: Json
  readonly subresources: JsonObject
  readonly printerColumns: readonly Json[]
  /** The paths of fields that selectors may name, such as `.spec.color`. */
  readonly selectableFields: readonly string[]
  /** The Warning that every use returns; undefined when the version is not deprecated. */
  readonly deprecation: string | undefined
}

/** A CustomResourceDefinition in the form that the server uses. */
export interface Definition {
  readonly name: string
  readonly group: string
  readonly isNamespaced: boolean
  /** The accepted names, once the definition is served. */
  readonly names: DefinitionNames
  readonly versions: readonly DefinitionVersion[]
  readonly isEstablished: boolean
  readonly isTerminating: boolean
}

/** Reads a definition after its types have been checked; absent fields read as empty. */
export function readDefinition(document: ApiDocument): Definition {
  const { spec } = document
  const group = textAt(spec, 'group')
  const isEstablished = isConditionTrue(document, 'Established')
  const names = readNames(isEstablished ? objectAt(document['status'], 'acceptedNames') : objectAt(spec, 'names'))
  return {
    name: document.metadata.name ?? '',
    group,
    isNamespaced: textAt(spec, 'scope') === 'Namespaced',
    names,
    versions: listAt(spec, 'versions').map((version, _index, all) => readVersion(version, all, group, names.kind)),
    isEstablished,
    isTerminating: document.metadata.deletionTimestamp !== undefined,
  }
}

export function readNames(names: JsonObject): DefinitionNames {
  return {
    plural: textAt(names, 'plural'),
    singular: textAt(names, 'singular'),
    kind: textAt(names, 'kind'),
    listKind: textAt(names, 'listKind'),
    shortNames: listAt(names, 'shortNames').map(String),
    categories: listAt(names, 'categories').map(String),
  }
}

function readVersion(version: Json, all: readonly Json[], group: string, kind: string): DefinitionVersion {
  const name = textAt(version, 'name')
  const fields = objectAt(version)
  return {
    name,
    isServed: fields['served'] === true,
    isStorage: fields['storage'] === true,
    schema: objectAt(version, 'schema', 'openAPIV3Schema'),
    subresources: objectAt(version, 'subresources'),
    printerColumns: listAt(version, 'additionalPrinterColumns'),
    selectableFields: listAt(version, 'selectableFields').map((field) => textAt(field, 'jsonPath')),
    deprecation: fields['deprecated'] === true ? deprecationOf(version, all, group, kind) : undefined,
  }
}

function deprecationOf(version: Json, all: readonly Json[], group: string, kind: string): string {
  const own = textAt(version, 'deprecationWarning')
  if (own !== '') return own
  const newer = all.find((each) => objectAt(each)['served'] === true && objectAt(each)['deprecated'] !== true)
  const hint = newer === undefined ? '' : `; use ${group}/${textAt(newer, 'name')} ${kind}`
  return `${group}/${textAt(version, 'name')} ${kind} is deprecated${hint}`
}

function isConditionTrue(document: ApiDocument, type: string): boolean {
  return listAt(document['status'], 'conditions').some((condition) => {
    return textAt(condition, 'type') === type && textAt(condition, 'status') === 'True'
  })
}
