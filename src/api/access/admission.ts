import { forbidden } from '../status.ts'
import type { Admit } from '../verbs/verb-context.ts'
import type { User } from './authenticate.ts'
import { nodeNameOf } from './node-authorizer.ts'
import { assertMayGrant } from './role-escalation.ts'
import type { RoleIndex } from './role-index.ts'

/** What may be written is known only with the object at hand: a node's own Node and Lease, and no role with more than its writer has. */
export function admissionFor(user: User, roles: RoleIndex | undefined): Admit {
  return (change) => {
    assertOwnNode(user, change)
    if (roles !== undefined) assertMayGrant(user, roles, change)
  }
}

function assertOwnNode(user: User, { target: { resource }, name, old }: Parameters<Admit>[0]): void {
  const node = nodeNameOf(user)
  const isNamedAfterNode = resource.plural === 'nodes' || resource.plural === 'leases'
  if (node === undefined || old !== undefined || !isNamedAfterNode || name === node) return
  throw forbidden(resource, name, `node ${JSON.stringify(node)} may create only what bears its own name`)
}
