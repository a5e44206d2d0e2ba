import { isDeepStrictEqual } from 'node:util'
import { type ApiDocument, objectAt, textAt } from '../document.ts'
import { builtInSchema } from '../schema/built-in-schema.ts'
import { type FieldError, forbiddenField, invalidField, tooLongField } from '../schema/field-error.ts'
import { column, type Resource } from './resource.ts'

export function configMaps(): Resource {
  return {
    group: '',
    version: 'v1',
    kind: 'ConfigMap',
    plural: 'configmaps',
    singular: 'configmap',
    shortNames: ['cm'],
    categories: [],
    namespaced: true,
    subresources: [],
    schema: builtInSchema('', 'v1', 'ConfigMap'),
    countsGeneration: false,
    selectableFields: {},
    columns: [column('Data', (document) => keysOf(document).length)],
    strategy: { validate: validateConfigMap, validateUpdate: validateImmutable },
  }
}

function keysOf(document: ApiDocument): readonly string[] {
  return [...Object.keys(objectAt(document['data'])), ...Object.keys(objectAt(document['binaryData']))]
}

const maxDataBytes = 1024 * 1024

const keyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

function validateConfigMap(document: ApiDocument): readonly FieldError[] {
  const twice = Object.keys(objectAt(document['data'])).filter((key) =>
    Object.hasOwn(objectAt(document['binaryData']), key),
  )
  return [
    ...validateConfigKeys(document, 'data'),
    ...validateConfigKeys(document, 'binaryData'),
    ...twice.map((key) => invalidField('data', key, 'duplicate of key present in binaryData')),
    ...(dataBytes(document) > maxDataBytes ? [tooLongField('', maxDataBytes)] : []),
  ]
}

function dataBytes(document: ApiDocument): number {
  const values = (field: string) => Object.values(objectAt(document[field])).map((value) => textAt(value))
  const plain = values('data').reduce((sum, value) => sum + Buffer.byteLength(value), 0)
  return values('binaryData').reduce((sum, value) => sum + Buffer.byteLength(value, 'base64'), plain)
}

/** The keys of a map become file names in pods. */
export function validateConfigKeys(document: ApiDocument, field: string): readonly FieldError[] {
  return Object.keys(objectAt(document[field]))
    .filter((key) => key.length > 253 || !/^[-._a-zA-Z0-9]+$/.test(key) || key === '.' || key === '..')
    .map((key) => invalidField(`${field}[${key}]`, key, keyRule))
}

function validateImmutable(document: ApiDocument, old: ApiDocument): readonly FieldError[] {
  if (old['immutable'] !== true) return []
  return ['immutable', 'data', 'binaryData']
    .filter((field) => !isDeepStrictEqual(document[field], old[field]))
    .map((field) => forbiddenField(field, 'field is immutable when `immutable` is set'))
}
