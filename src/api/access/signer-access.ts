import { isDeepStrictEqual } from 'node:util'
import type { Dialect } from '../../model/dialect.ts'
import { textAt, valueAt } from '../document.ts'
import type { User } from '../identity.ts'
import type { Admit } from '../request/request.ts'
import { forbidden } from '../status.ts'
import { isAllowed } from './authorize.ts'
import type { Authorizer } from './authorizer.ts'

/**
 * Checks that a user who decides about a CertificateSigningRequest may `approve` for its signer, and that one who writes
 * the certificate or a condition may `sign`, like Kubernetes' admission plugins CertificateApproval and
 * CertificateSigning. Throws a 403.
 */
export function assertMaySign(
  user: User,
  authorizers: readonly Authorizer[],
  { groups }: Dialect,
  { target, name, old, next }: Parameters<Admit>[0],
): void {
  const { resource, subresource } = target
  const isRequest = resource.group === groups.certificates && resource.plural === 'certificatesigningrequests'
  if (!isRequest || old === undefined || next === undefined) return
  const isSigning = subresource === 'status' && isIssuing(old['status'], next['status'])
  if (subresource !== 'approval' && !isSigning) return
  const verb = isSigning ? 'sign' : 'approve'
  const signer = textAt(old['spec'], 'signerName')
  if (mayForSigner(user, authorizers, { verb, group: groups.certificates, signer })) return
  throw forbidden(resource, name, `user not permitted to ${verb} requests with signerName ${JSON.stringify(signer)}`)
}

type Status = Parameters<typeof valueAt>[0]

function isIssuing(old: Status, next: Status): boolean {
  return ['certificate', 'conditions'].some((field) => !isDeepStrictEqual(valueAt(old, field), valueAt(next, field)))
}

/** A role names a signer, or all signers of a domain: `example.com/*`. */
function mayForSigner(
  user: User,
  authorizers: readonly Authorizer[],
  { verb, group, signer }: { readonly verb: string; readonly group: string; readonly signer: string },
): boolean {
  const asked = { kind: 'resource', verb, group, resource: 'signers', namespace: '', fieldSelector: [] } as const
  const names = [signer, `${signer.split('/', 1)[0]}/*`]
  return names.some((name) => isAllowed(user, { ...asked, name }, authorizers))
}
