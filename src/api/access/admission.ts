import type { Dialect } from '../../model/dialect.ts'
import { textAt } from '../document.ts'
import { forbidden } from '../status.ts'
import type { Admit } from '../verbs/verb-context.ts'
import type { User } from './authenticate.ts'
import { nodeNameOf } from './node-authorizer.ts'
import { assertMayGrant } from './role-escalation.ts'
import type { RoleIndex } from './role-index.ts'

/** What may be written is known only with the object at hand: a node's own Node and Lease, and no role with more than its writer has. */
export function admissionFor(user: User, roles: RoleIndex | undefined, dialect: Dialect): Admit {
  return (change) => {
    assertOwnNode(user, change)
    assertOwnDns(user, change, dialect)
    if (roles !== undefined) assertMayGrant(user, roles, change)
  }
}

function assertOwnNode(user: User, { target: { resource }, name, old }: Parameters<Admit>[0]): void {
  const node = nodeNameOf(user)
  const isNamedAfterNode = resource.plural === 'nodes' || resource.plural === 'leases'
  if (node === undefined || old !== undefined || !isNamedAfterNode || name === node) return
  throw forbidden(resource, name, `node ${JSON.stringify(node)} may create only what bears its own name`)
}

/** A node may make the Service of the cluster DNS where nobody has, and pods that only show what it runs by itself. */
function assertOwnDns(
  user: User,
  { target: { resource }, name, old, next }: Parameters<Admit>[0],
  dialect: Dialect,
): void {
  const node = nodeNameOf(user)
  if (node === undefined || old !== undefined) return
  if (resource.plural === 'services' && name !== 'kube-dns')
    throw forbidden(resource, name, `node ${JSON.stringify(node)} may create only the Service kube-dns`)
  if (resource.plural !== 'pods') return
  const isMirror = textAt(next?.metadata, 'annotations', dialect.annotations.mirrorPod) !== ''
  if (isMirror && textAt(next?.['spec'], 'nodeName') === node) return
  throw forbidden(resource, name, `node ${JSON.stringify(node)} may create only mirror pods of its own`)
}
