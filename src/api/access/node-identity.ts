import type { User } from '../identity.ts'

/** The user of a node's agent is this and the name of the node. */
export const userPrefix = 'system:node:'
const nodesGroup = 'system:nodes'

/** The namespace of the nodes' Leases. */
export const leaseNamespace = 'kube-node-lease'

/** Returns the node whose agent the user is, undefined for any other user; `""` for a node identity without a name, which may do nothing. */
export function nodeNameOf({ name, groups }: User): string | undefined {
  const isNode = name.startsWith(userPrefix) && groups.includes(nodesGroup)
  return isNode ? name.slice(userPrefix.length) : undefined
}
