import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, isJsonObject, objectAt, textAt, without } from '../document.ts'
import { type FieldError, invalidField, requiredField, tooLongField } from '../schema/field-error.ts'
import { checkConfigKey, checkSealed, maxDataBytes } from './config-maps.ts'
import { defineKind } from './define-kind.ts'
import { column, type Resource } from './resource.ts'

export function secrets(dialect: Dialect): Resource {
  return defineKind({
    group: '',
    version: 'v1',
    kind: 'Secret',
    plural: 'secrets',
    namespaced: true,
    defaults: { type: { default: 'Opaque' } },
    selectableFields: { type: (secret) => textAt(secret['type']) },
    columns: [
      column('Type', (secret) => textAt(secret['type'])),
      column('Data', (secret) => Object.keys(objectAt(secret['data'])).length),
    ],
    strategy: {
      prepareForCreate: encodeStringData,
      prepareForUpdate: encodeStringData,
      validate: (secret) => validateSecret(secret, dialect),
      validateUpdate: validateSecretUpdate,
    },
  })
}

/** Moves `stringData`, which is write-only, into `data`, in base64. */
function encodeStringData(secret: ApiDocument): ApiDocument {
  const plain = Object.entries(objectAt(secret['stringData']))
  if (plain.length === 0) return without(secret, 'stringData')
  const encoded = plain.map(([key, value]) => [key, Buffer.from(textAt(value)).toString('base64')])
  return { ...without(secret, 'stringData'), data: { ...objectAt(secret['data']), ...Object.fromEntries(encoded) } }
}

/** Checks a Secret. No message repeats a value, because it is secret. */
function validateSecret(secret: ApiDocument, dialect: Dialect): readonly FieldError[] {
  const errors: FieldError[] = []
  let bytes = 0
  for (const [key, value] of Object.entries(objectAt(secret['data']))) {
    bytes += Buffer.byteLength(textAt(value), 'base64')
    errors.push(...checkConfigKey(key, 'data'))
  }
  if (bytes > maxDataBytes) errors.push(tooLongField('data', maxDataBytes))
  return [...errors, ...validateType(secret, dialect)]
}

/** Checks the keys that the well-known types guarantee. */
function validateType(secret: ApiDocument, { wellKnownPrefixes }: Dialect): readonly FieldError[] {
  const type = textAt(secret['type'])
  const prefix = wellKnownPrefixes.find((each) => type.startsWith(each))
  if (prefix === undefined) return []
  const data = objectAt(secret['data'])
  switch (type.slice(prefix.length)) {
    case 'service-account-token':
      return validateTokenOwner(secret, `${prefix}service-account.name`)
    case 'basic-auth': {
      const absent = checkKeys(data, 'username', 'password')
      return absent.length < 2 ? [] : absent
    }
    case 'dockercfg':
      return checkJson(data, '.dockercfg')
    case 'dockerconfigjson':
      return checkJson(data, '.dockerconfigjson')
    case 'ssh-auth':
      return textAt(data, 'ssh-privatekey') === '' ? [requiredField('data[ssh-privatekey]')] : []
    case 'tls':
      return checkKeys(data, 'tls.crt', 'tls.key')
    default:
      return []
  }
}

function checkKeys(data: JsonObject, ...keys: readonly string[]): readonly FieldError[] {
  return keys.filter((key) => !Object.hasOwn(data, key)).map((key) => requiredField(`data[${key}]`))
}

/** Checks that a file of registry credentials is a JSON object. */
function checkJson(data: JsonObject, key: string): readonly FieldError[] {
  if (!Object.hasOwn(data, key)) return [requiredField(`data[${key}]`)]
  const text = Buffer.from(textAt(data[key]), 'base64').toString()
  if (isJsonMap(text)) return []
  return [invalidField(`data[${key}]`, '<secret contents redacted>', 'must be a JSON object')]
}

function isJsonMap(text: string): boolean {
  try {
    const value = JSON.parse(text) as Json
    return value === null || isJsonObject(value)
  } catch {
    return false
  }
}

function validateTokenOwner({ metadata }: ApiDocument, annotation: string): readonly FieldError[] {
  return metadata.annotations?.[annotation] ? [] : [requiredField(`metadata.annotations[${annotation}]`)]
}

function validateSecretUpdate(secret: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const sealed = checkSealed(['data'], secret, old)
  if (secret['type'] === old['type']) return sealed
  return [invalidField('type', secret['type'], 'field is immutable'), ...sealed]
}
