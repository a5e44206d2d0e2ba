import { anonymous } from '../access/authenticate.ts'
import type { User } from '../identity.ts'

/**
 * To whom a request counts. `admin` may use all there is; `system` (nodes, controllers of the cluster) may use what is kept from `ordinary` flows too, and
 * shares it.
 */
export interface Flow {
  readonly key: string
  readonly level: 'admin' | 'system' | 'ordinary'
}

const systemUsers = new Set(['system:kube-controller-manager', 'system:kube-scheduler', 'system:kube-proxy'])
const accountPrefix = 'system:serviceaccounts:'
const systemAccounts = `${accountPrefix}kube-system`

/**
 * A user is a flow; all service accounts of a namespace are one together, because who may make one there may make any number. Without an identity
 * it is the client's address.
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
