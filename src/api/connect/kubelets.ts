import { type ApiDocument, listAt, textAt, valueAt } from '../document.ts'
import { internalError } from '../status.ts'
import type { Store } from '../store/index.ts'
import type { Backend, BackendTls } from './backend.ts'
import { findObject, node } from './find-object.ts'

/** The types of addresses that a Node has. */
export const nodeAddressTypes = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'] as const

/** How this server reaches kubelets, and agents in their place. */
export interface KubeletAccess {
  /** Read for each connection, so that files that were replaced hold at once. */
  readonly tls: () => Promise<BackendTls>
  /** The types of node addresses, the best one first: `InternalIP`, `Hostname`. */
  readonly addressTypes: readonly string[]
}

/** The port of a kubelet whose Node names none. */
const defaultPort = 10250

/** Finds the kubelet of a node: its address and port are those of the Node object, and of nothing that a client sends. */
export async function findKubelet(store: Store, access: KubeletAccess, name: string): Promise<Backend> {
  const found = await findObject(store, node, undefined, name)
  return { host: addressOf(found, access.addressTypes), port: portOf(found), tls: await access.tls() }
}

function addressOf({ status, metadata }: ApiDocument, types: readonly string[]): string {
  const addresses = listAt(status, 'addresses')
  const known = types.flatMap((type) => addresses.filter((each) => textAt(each, 'type') === type))
  const address = textAt(known[0], 'address')
  if (address !== '') return address
  throw internalError(`the Node ${metadata.name} has no address of the types ${types.join(', ')}`)
}

function portOf({ status }: ApiDocument): number {
  const port = valueAt(status, 'daemonEndpoints', 'kubeletEndpoint', 'Port')
  return typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536 ? port : defaultPort
}
