import { isDeepStrictEqual } from 'node:util'
import type { Dialect } from '../../model/dialect.ts'
import { type ApiDocument, objectAt, textAt, without } from '../document.ts'
import { type FieldError, forbiddenField, invalidField, requiredField, tooLongField } from '../schema/field-error.ts'
import { validateConfigKeys } from './config-maps.ts'
import { defineKind } from './define-kind.ts'
import { column, type Resource } from './resource.ts'

const maxDataBytes = 1024 * 1024

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

/** `stringData` is only ever written: its values go into `data`, in base64. */
function encodeStringData(secret: ApiDocument): ApiDocument {
  const plain = Object.entries(objectAt(secret['stringData']))
  if (plain.length === 0) return without(secret, 'stringData')
  const encoded = plain.map(([key, value]) => [key, Buffer.from(textAt(value)).toString('base64')])
  return { ...without(secret, 'stringData'), data: { ...objectAt(secret['data']), ...Object.fromEntries(encoded) } }
}

/** No message repeats a value: it is secret. */
function validateSecret(secret: ApiDocument, dialect: Dialect): readonly FieldError[] {
  const entries = Object.entries(objectAt(secret['data'])).map(([key, value]) => [key, textAt(value)] as const)
  const bytes = entries.reduce((sum, [, value]) => sum + Buffer.byteLength(value, 'base64'), 0)
  return [
    ...validateConfigKeys(secret, 'data'),
    ...entries
      .filter(([, value]) => !isBase64(value))
      .map(([key]) => invalidField(`data[${key}]`, '<redacted>', 'must be base64')),
    ...(bytes > maxDataBytes ? [tooLongField('data', maxDataBytes)] : []),
    ...validateType(secret, dialect),
  ]
}

function isBase64(value: string): boolean {
  return /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(value.replace(/[\r\n]/g, ''))
}

const neededKeys: Readonly<Record<string, readonly string[]>> = {
  dockercfg: ['.dockercfg'],
  dockerconfigjson: ['.dockerconfigjson'],
  'ssh-auth': ['ssh-privatekey'],
  tls: ['tls.crt', 'tls.key'],
}

/** What the well-known types promise their readers. */
function validateType(secret: ApiDocument, { wellKnownPrefixes }: Dialect): readonly FieldError[] {
  const type = textAt(secret['type'])
  const prefix = wellKnownPrefixes.find((each) => type.startsWith(each))
  if (prefix === undefined) return []
  const name = type.slice(prefix.length)
  const missing = (keys: readonly string[]) => keys.filter((key) => !Object.hasOwn(objectAt(secret['data']), key))
  if (name === 'service-account-token') return validateTokenOwner(secret, `${prefix}service-account.name`)
  if (name === 'basic-auth') {
    const absent = missing(['username', 'password'])
    return absent.length < 2 ? [] : absent.map((key) => requiredField(`data[${key}]`))
  }
  return missing(neededKeys[name] ?? []).map((key) => requiredField(`data[${key}]`))
}

function validateTokenOwner({ metadata }: ApiDocument, annotation: string): readonly FieldError[] {
  return metadata.annotations?.[annotation] ? [] : [requiredField(`metadata.annotations[${annotation}]`)]
}

function validateSecretUpdate(secret: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const errors: FieldError[] = []
  if (secret['type'] !== old['type']) errors.push(invalidField('type', secret['type'], 'field is immutable'))
  if (old['immutable'] !== true) return errors
  return [
    ...errors,
    ...['immutable', 'data']
      .filter((field) => !isDeepStrictEqual(secret[field], old[field]))
      .map((field) => forbiddenField(field, 'field is immutable when `immutable` is set')),
  ]
}
