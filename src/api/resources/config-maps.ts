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

/** The limit on the total size of all values of a ConfigMap or a Secret. */
export const maxDataBytes = 1024 * 1024

function validateConfigMap(document: ApiDocument): readonly FieldError[] {
  const errors: FieldError[] = []
  const [data, binaryData] = [objectAt(document['data']), objectAt(document['binaryData'])]
  let bytes = 0
  for (const [key, value] of Object.entries(data)) {
    bytes += Buffer.byteLength(textAt(value))
    errors.push(...checkConfigKey(key, 'data'))
    if (Object.hasOwn(binaryData, key))
      errors.push(invalidField(`data[${key}]`, key, 'duplicate of key present in binaryData'))
  }
  for (const [key, value] of Object.entries(binaryData)) {
    bytes += Buffer.byteLength(textAt(value), 'base64')
    errors.push(...checkConfigKey(key, 'binaryData'))
  }
  if (bytes > maxDataBytes) errors.push(tooLongField(wholeObject, maxDataBytes))
  return errors
}

/** The name that Kubernetes gives to the whole object in a field path. */
const wholeObject = '[]'

const keyRule =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
const none: readonly FieldError[] = []

/** Checks the keys of a map: they become file names in pods. */
export function checkConfigKey(key: string, field: string): readonly FieldError[] {
  const isFormGood = /^[-._a-zA-Z0-9]+$/.test(key)
  if (isFormGood && key.length <= 253 && !/^\.(?:\.|$)/.test(key)) return none
  const problems = [
    ...(key.length > 253 ? ['must be no more than 253 characters'] : []),
    ...(isFormGood ? [] : [keyRule]),
    ...(key === '.' || key === '..' ? [`must not be '${key}'`] : []),
    ...(key.startsWith('..') && key !== '..' ? ["must not start with '..'"] : []),
  ]
  return problems.map((why) => invalidField(`${field}[${key}]`, key, why))
}

function validateImmutable(document: ApiDocument, old: ApiDocument): readonly FieldError[] {
  return checkSealed(['data', 'binaryData'], document, old)
}

/** Checks that an immutable object keeps its flag and all its data. */
export function checkSealed(fields: readonly string[], document: ApiDocument, old: ApiDocument): readonly FieldError[] {
  if (old['immutable'] !== true) return none
  return ['immutable', ...fields]
    .filter((field) => !isDeepStrictEqual(document[field], old[field]))
    .map((field) => forbiddenField(field, 'field is immutable when `immutable` is set'))
}
