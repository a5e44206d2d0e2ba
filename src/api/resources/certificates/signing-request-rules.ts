import { X509Certificate } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Json, JsonObject } from '../../../model/api-object.ts'
import type { SignerNames } from '../../../model/signer-names.ts'
import { type ApiDocument, listAt, objectAt, textAt } from '../../document.ts'
import {
  duplicateField,
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { checkSignerName } from './signer-name-rules.ts'

/** The conditions that only `/approval` sets. */
export const approvals = ['Approved', 'Denied']
const final = [...approvals, 'Failed']
const statuses = ['False', 'True', 'Unknown']
const shortestSeconds = 600

const usages = [
  ...['any', 'cert sign', 'client auth', 'code signing', 'content commitment', 'crl sign', 'data encipherment'],
  ...['decipher only', 'digital signature', 'email protection', 'encipher only', 'ipsec end system', 'ipsec tunnel'],
  ...['ipsec user', 'key agreement', 'key encipherment', 'microsoft sgc', 'netscape sgc', 'ocsp signing', 's/mime'],
  ...['server auth', 'signing', 'timestamping'],
]

/** Checks a signing request, apart from its `spec.request`, which takes a library. */
export function checkSigningRequest({ spec, status }: ApiDocument, signers: SignerNames): readonly FieldError[] {
  const object = objectAt(spec)
  return [
    ...checkUsages(listAt(object, 'usages').map((usage) => textAt(usage))),
    ...checkSigner(textAt(object, 'signerName'), signers),
    ...checkDuration(object),
    ...checkConditions(conditionsOf(status)),
    ...checkCertificate(textAt(status, 'certificate')),
  ]
}

export function conditionsOf(status: Json | undefined): readonly JsonObject[] {
  return listAt(status, 'conditions').map((condition) => objectAt(condition))
}

function checkUsages(found: readonly string[]): readonly FieldError[] {
  const at = (index: number) => `spec.usages[${index}]`
  return [
    ...(found.length === 0 ? [requiredField('spec.usages')] : []),
    ...found.flatMap((usage, index) => (usages.includes(usage) ? [] : [unsupportedField(at(index), usage, usages)])),
    ...found.flatMap((usage, index) => (found.indexOf(usage) < index ? [duplicateField(at(index), usage)] : [])),
  ]
}

function checkSigner(name: string, { legacy }: SignerNames): readonly FieldError[] {
  const path = 'spec.signerName'
  if (name !== legacy) return checkSignerName(name, path)
  return [invalidField(path, name, 'the legacy signerName is not allowed via this API version')]
}

function checkDuration({ expirationSeconds }: JsonObject): readonly FieldError[] {
  if (typeof expirationSeconds !== 'number' || expirationSeconds >= shortestSeconds) return []
  const why = 'may not specify a duration less than 600 seconds (10 minutes)'
  return [invalidField('spec.expirationSeconds', expirationSeconds, why)]
}

function checkConditions(conditions: readonly JsonObject[]): readonly FieldError[] {
  const types = conditions.map((condition) => textAt(condition, 'type'))
  return conditions.flatMap((condition, index) => [
    ...checkCondition(condition, `status.conditions[${index}]`),
    ...checkExclusive(types, index),
    ...(types.indexOf(types[index] ?? '') < index
      ? [duplicateField(`status.conditions[${index}].type`, types[index] ?? '')]
      : []),
  ])
}

function checkCondition(condition: JsonObject, path: string): readonly FieldError[] {
  const [type, status] = [textAt(condition, 'type'), textAt(condition, 'status')]
  const allowed = final.includes(type) ? ['True'] : statuses
  return [
    ...(type === '' ? [requiredField(`${path}.type`)] : []),
    ...(status === '' ? [requiredField(`${path}.status`)] : []),
    ...(status === '' || allowed.includes(status) ? [] : [unsupportedField(`${path}.status`, status, allowed)]),
  ]
}

function checkExclusive(types: readonly string[], index: number): readonly FieldError[] {
  const type = types[index] ?? ''
  const other = approvals.find((each) => each !== type)
  if (!approvals.includes(type) || !types.slice(0, index).includes(other ?? '')) return []
  return [invalidField('status.conditions', type, 'Approved and Denied conditions are mutually exclusive')]
}

const pemBlocks = /-----BEGIN ([^\n]*?)-----\r?\n([\s\S]*?)-----END \1-----/g

/** Checks an issued certificate: PEM blocks of certificates, without headers. */
function checkCertificate(base64: string): readonly FieldError[] {
  if (base64 === '') return []
  const why = faultOfCertificate(Buffer.from(base64, 'base64').toString('latin1'))
  return why === undefined ? [] : [invalidField('status.certificate', '<certificate data>', why)]
}

function faultOfCertificate(pem: string): string | undefined {
  const blocks = [...pem.matchAll(pemBlocks)]
  if (blocks.length === 0) return 'must contain at least one CERTIFICATE PEM block'
  for (const [block, type = '', body = ''] of blocks) {
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`
    if (body.includes(':')) return 'no PEM block headers are permitted'
    if (!isCertificate(block)) return 'a PEM block holds no certificate'
  }
  return undefined
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0
  } catch {
    return false
  }
}

/** Checks any update: a decision stays, and so does an issued certificate. */
export function checkKept({ status }: ApiDocument, old: ApiDocument): readonly FieldError[] {
  const [now, before] = [textAt(status, 'certificate'), textAt(old['status'], 'certificate')]
  const removed = final.filter(
    (type) => ofType(conditionsOf(status), type).length < ofType(conditionsOf(old['status']), type).length,
  )
  return [
    ...removed.map((type) =>
      forbiddenField('status.conditions', `updates may not remove a condition of type ${JSON.stringify(type)}`),
    ),
    ...(before !== '' && now !== before
      ? [forbiddenField('status.certificate', 'updates may not modify existing certificate content')]
      : []),
  ]
}

/** Checks a write of the status: it decides nothing. */
export function checkUndecided({ status }: ApiDocument, old: ApiDocument): readonly FieldError[] {
  return approvals.flatMap((type) => {
    const [next, before] = [ofType(conditionsOf(status), type), ofType(conditionsOf(old['status']), type)]
    if (next.length < before.length || isDeepStrictEqual(next, before)) return []
    const change = next.length > before.length ? 'add' : 'modify'
    return [
      forbiddenField('status.conditions', `updates may not ${change} a condition of type ${JSON.stringify(type)}`),
    ]
  })
}

export function ofType(conditions: readonly JsonObject[], type: string): readonly JsonObject[] {
  return conditions.filter((condition) => textAt(condition, 'type') === type)
}
