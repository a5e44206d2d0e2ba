import type { User } from '../identity.ts'

const userPrefix = 'system:node:'
const nodesGroup = 'system:nodes'

/** Where nodes keep their Leases. */
export const leaseNamespace = 'kube-node-lease'

/** The node whose agent this is, undefined for anybody else; `""` for a node's identity that names no node, which may do nothing. */
export function nodeNameOf({ name, groups }: User): string | undefined {
  const isNode = name.startsWith(userPrefix) && groups.includes(nodesGroup)
  return isNode ? name.slice(userPrefix.length) : undefined
}
