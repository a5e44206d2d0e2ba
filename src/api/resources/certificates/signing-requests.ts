import { formatAge } from '../../../model/age.ts'
import { formatTime, type JsonObject } from '../../../model/api-object.ts'
import type { Dialect } from '../../../model/dialect.ts'
import { describeError } from '../../../model/errors.ts'
import { readCertificateRequest } from '../../../pki/index.ts'
import { type ApiDocument, objectAt, textAt } from '../../document.ts'
import type { User } from '../../identity.ts'
import { type FieldError, invalidPart } from '../../schema/field-error.ts'
import { forbidden } from '../../status.ts'
import { defineKind } from '../define-kind.ts'
import { column, type Resource } from '../resource.ts'
import {
  approvals,
  checkKept,
  checkSigningRequest,
  checkUndecided,
  conditionsOf,
  ofType,
} from './signing-request-rules.ts'

const superusers = 'system:masters'

/**
 * The kind CertificateSigningRequest: a client asks for a certificate, an approver decides through `/approval`, and a
 * signer writes the certificate into the status.
 */
export function signingRequests({ groups, signers }: Dialect, now: () => Date): Resource {
  const resource = defineKind({
    group: groups.certificates,
    version: 'v1',
    kind: 'CertificateSigningRequest',
    plural: 'certificatesigningrequests',
    shortNames: ['csr'],
    namespaced: false,
    subresources: ['status', 'approval'],
    selectableFields: { 'spec.signerName': ({ spec }) => textAt(spec, 'signerName') },
    defaults: { spec: { default: {} }, status: { default: {} } },
    hidesAge: true,
    columns,
    strategy: {
      // Kubernetes checks no name at all; one with a slash would be no segment of a path.
      validateName: (name) =>
        /^[^/%]+$/.test(name) && name !== '.' && name !== '..' ? undefined : "may not contain '/'",
      admit: async (document, { user }) => ({ ...document, spec: withUser(objectAt(document['spec']), user) }),
      prepareForUpdate: withPartsOf,
      prepareStatus: (next, old, subresource) =>
        prepareStatus(next, old, { isApproval: subresource === 'approval', now }),
      validate: (document) => checkSigningRequest(document, signers),
      validateUpdate: checkKept,
      validateStatus: checkUndecided,
      checkRules: async ({ spec }, old) => (old === undefined ? checkRequest(textAt(spec, 'request')) : []),
      guard: async ({ old, next }) => {
        if (old !== undefined || next === undefined || textAt(next['spec'], 'signerName') !== signers.client) return
        const { organizations } = await readCertificateRequest(decode(textAt(next['spec'], 'request')))
        const why = `use of ${signers.client} signer with ${superusers} group is not allowed`
        if (organizations.includes(superusers)) throw forbidden(resource, next.metadata.name ?? '', why)
      },
    },
  })
  return resource
}

const columns: Resource['columns'] = [
  column('Age', ({ metadata }, now) => formatAge(now.getTime() - Date.parse(metadata.creationTimestamp ?? ''))),
  column('SignerName', ({ spec }) => textAt(spec, 'signerName') || '<none>'),
  column('Requestor', ({ spec }) => textAt(spec, 'username')),
  column('RequestedDuration', ({ spec }) => {
    const seconds = textAt(spec, 'expirationSeconds')
    return seconds === '' ? '<none>' : formatAge(Number(seconds) * 1000)
  }),
  column('Condition', ({ status }) => {
    const has = (type: string) => ofType(conditionsOf(status), type).length > 0
    const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending'
    const failed = has('Failed') ? ['Failed'] : []
    return [decision, ...failed, ...(textAt(status, 'certificate') === '' ? [] : ['Issued'])].join(',')
  }),
]

/** Returns the spec with the identity of the caller; what the client said about it counts for nothing. */
function withUser(spec: JsonObject, user: User | undefined): JsonObject {
  const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...asked } = spec
  if (user === undefined) return asked
  return {
    ...asked,
    username: user.name,
    ...(user.uid === undefined ? {} : { uid: user.uid }),
    groups: [...user.groups],
    ...(user.extra === undefined || Object.keys(user.extra).length === 0 ? {} : { extra: copyOf(user.extra) }),
  }
}

function copyOf(extra: Readonly<Record<string, readonly string[]>>): JsonObject {
  return Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]]))
}

/** An update of the object itself changes its metadata only. */
function withPartsOf(document: ApiDocument, old: ApiDocument): ApiDocument {
  return { ...document, spec: old['spec'], status: old['status'] }
}

/**
 * Returns a write of a subresource with its times filled in. `/approval` changes nothing but conditions; `/status`
 * keeps the decisions as they are.
 */
function prepareStatus(
  next: ApiDocument,
  old: ApiDocument,
  { isApproval, now }: { readonly isApproval: boolean; readonly now: () => Date },
): ApiDocument {
  const before = conditionsOf(old['status'])
  const asked = conditionsOf(next['status'])
  const conditions = (isApproval ? asked : keepDecisions(asked, before)).map((condition) =>
    withTimes(condition, before, formatTime(now())),
  )
  const { conditions: _, ...rest } = objectAt(isApproval ? old['status'] : next['status'])
  return { ...next, status: conditions.length === 0 ? rest : { ...rest, conditions } }
}

function keepDecisions(asked: readonly JsonObject[], before: readonly JsonObject[]): readonly JsonObject[] {
  const isKept = (type: string) => ofType(asked, type).length === ofType(before, type).length
  return asked.map((condition) => {
    const type = textAt(condition, 'type')
    const kept = approvals.includes(type) && isKept(type) ? ofType(before, type)[0] : undefined
    return kept ?? condition
  })
}

function withTimes(condition: JsonObject, before: readonly JsonObject[], time: string): JsonObject {
  const same = ofType(before, textAt(condition, 'type')).find(({ status }) => status === condition['status'])
  return {
    ...condition,
    lastUpdateTime: textAt(condition, 'lastUpdateTime') || time,
    lastTransitionTime: textAt(condition, 'lastTransitionTime') || textAt(same, 'lastTransitionTime') || time,
  }
}

async function checkRequest(request: string): Promise<readonly FieldError[]> {
  try {
    await readCertificateRequest(decode(request))
    return []
  } catch (thrown) {
    return [invalidPart('spec.request', describeError(thrown))]
  }
}

function decode(request: string): string {
  return Buffer.from(request, 'base64').toString('latin1')
}
