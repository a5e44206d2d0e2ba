import { isDeepStrictEqual } from 'node:util'
import { type ApiDocument, objectAt } from '../document.ts'
import { builtInSchema } from '../schema/built-in-schema.ts'
import { type FieldError, forbiddenField, invalidField } from '../schema/field-error.ts'
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

const keyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

function validateConfigMap(document: ApiDocument): readonly FieldError[] {
  return ['data', 'binaryData'].flatMap((field) =>
    Object.keys(objectAt(document[field]))
      .filter((key) => key.length > 253 || !/^[-._a-zA-Z0-9]+$/.test(key) || key === '.' || key === '..')
      .map((key) => invalidField(`${field}[${key}]`, key, keyRule)),
  )
}

function validateImmutable(document: ApiDocument, old: ApiDocument): readonly FieldError[] {
  if (old['immutable'] !== true) return []
  return ['immutable', 'data', 'binaryData']
    .filter((field) => !isDeepStrictEqual(document[field], old[field]))
    .map((field) => forbiddenField(field, 'field is immutable when `immutable` is set'))
}
