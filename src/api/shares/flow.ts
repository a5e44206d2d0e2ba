import { anonymous } from '../access/authenticate.ts'
import type { User } from '../identity.ts'

/**
 * The flow that a request is counted to. `admin` may use the whole capacity; `system` (nodes, controllers of the cluster) may also use the part that
 * is reserved from `ordinary` flows, and shares it.
 */
export interface Flow {
  readonly key: string
  readonly level: 'admin' | 'system' | 'ordinary'
}

const systemUsers = new Set(['system:kube-controller-manager', 'system:kube-scheduler', 'system:kube-proxy'])
const accountPrefix = 'system:serviceaccounts:'
const systemAccounts = `${accountPrefix}kube-system`

/**
 * Returns the flow of a request. A user is a flow; all service accounts of a namespace are one flow, because a user who can create one there can
 * create any number. Without an identity, the client's address is the flow.
 */
export function flowOf(user: User, address: string): Flow {
  const { name, groups } = user
  if (user === anonymous) return { key: `address:${address}`, level: 'ordinary' }
  if (groups.includes('system:masters')) return { key: name, level: 'admin' }
  const accounts = groups.find((group) => group.startsWith(accountPrefix))
  if (accounts === systemAccounts) return { key: name, level: 'system' }
  if (accounts !== undefined) return { key: accounts, level: 'ordinary' }
  const isSystem = groups.includes('system:nodes') || systemUsers.has(name)
  return { key: name, level: isSystem ? 'system' : 'ordinary' }
}
