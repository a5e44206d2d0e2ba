import type { Dialect } from '../../model/dialect.ts'
import type { ApiDocument } from '../document.ts'
import type { User } from '../identity.ts'
import type { Admit } from '../request/request.ts'
import type { Registry } from '../resources/registry.ts'
import type { Attributes } from './attributes.ts'
import { authorize } from './authorize.ts'
import type { Authorizer } from './authorizer.ts'
import { assertNoNewExternalIps } from './deny-external-ips.ts'
import { nodeNameOf } from './node-identity.ts'
import { assertNodeMay } from './node-restriction.ts'
import { assertMayReadParams } from './param-access.ts'
import { assertMayGrant } from './role-escalation.ts'
import type { RoleIndex } from './role-index.ts'
import { assertMaySign } from './signer-access.ts'

/** The names of admission plugins, spelled as in kube-apiserver. NodeRestriction is always on. */
export const admissionPlugins = ['DenyServiceExternalIPs', 'NodeRestriction'] as const
/** Plugins that are on unless the operator disables them. */
export const defaultAdmissionPlugins = ['DefaultTolerationSeconds', 'ServiceAccount'] as const

export interface AdmissionParts {
  readonly dialect: Dialect
  readonly authorizers: readonly Authorizer[]
  /** The index of roles; absent when RBAC makes no decisions. */
  readonly roles: RoleIndex | undefined
  /** The plugins of `admissionPlugins` that the operator enabled. */
  readonly admissionPlugins: ReadonlySet<string>
  readonly readNode: (name: string) => Promise<ApiDocument | undefined>
  readonly readPolicy: (name: string) => Promise<ApiDocument | undefined>
  readonly registry: Registry
}

/**
 * Returns the checks that need the object itself: which fields a node may set, that a role grants no more than its
 * writer holds, for which signers a user may decide about certificate requests, and whether the writer of an admission
 * policy may read its parameters.
 */
export function admissionFor(user: User, attributes: Attributes, parts: AdmissionParts): Admit {
  const { roles, dialect, readNode } = parts
  const node = nodeNameOf(user)
  return async (change) => {
    // An apply that creates its object needs both verbs.
    if (change.old === undefined && attributes.verb !== 'create')
      authorize(user, { ...attributes, verb: 'create' }, parts.authorizers)
    if (parts.admissionPlugins.has('DenyServiceExternalIPs')) assertNoNewExternalIps(change)
    if (node !== undefined) await assertNodeMay(node, change, { dialect, verb: attributes.verb, readNode })
    if (roles !== undefined) assertMayGrant(user, roles, dialect.groups.rbac, change)
    assertMaySign(user, parts.authorizers, dialect, change)
    await assertMayReadParams(user, change, parts)
  }
}
