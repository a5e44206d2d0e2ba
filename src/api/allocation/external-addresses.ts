import { type Cidr, cidrContains, hostCidr, type Ip, parseIp } from '../../model/ip.ts'
import { type ApiDocument, listAt, textAt } from '../document.ts'
import { collectionPrefix } from '../resources/keys.ts'
import { addedAddresses, externalIpsOf, type ListedAddress } from '../resources/service-external-addresses.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'
import type { Store, StoredEntry } from '../store/index.ts'

const nodePrefix = collectionPrefix({ plural: 'nodes' }, undefined)

/**
 * Refuses an external address that the cluster uses itself: it would take the traffic of other Services, of the API server or of a node. Kubernetes
 * leaves this to the admission plugin DenyServiceExternalIPs. Addresses that were stored before stay.
 */
export async function validateClaimedAddresses(
  store: Store,
  { old, next }: { readonly old: ApiDocument | undefined; readonly next: ApiDocument | undefined },
  serviceRanges: readonly Cidr[],
): Promise<readonly FieldError[]> {
  const added = next === undefined ? [] : addedAddresses(externalIpsOf(next), old && externalIpsOf(old))
  if (added.length === 0) return []
  const nodes = await readNodeAddresses(store)
  return added.flatMap((address) => validateClaim(address, nodes, serviceRanges))
}

function validateClaim(
  { text, field }: ListedAddress,
  nodes: ReadonlyMap<Ip, string>,
  serviceRanges: readonly Cidr[],
): readonly FieldError[] {
  const ip = parseIp(text)
  if (ip === undefined) return []
  const range = serviceRanges.find((cidr) => cidrContains(cidr, hostCidr(ip)))
  if (range !== undefined) return [invalidField(field, text, `may not be in a network of Services (${range})`)]
  const node = nodes.get(ip)
  return node === undefined ? [] : [invalidField(field, text, `may not be an address of a node (${node})`)]
}

/** Returns the addresses of all nodes, each with the name of its node. */
async function readNodeAddresses(store: Store): Promise<ReadonlyMap<Ip, string>> {
  const { entries } = await store.range(nodePrefix)
  return new Map(
    entries.flatMap((entry) => addressesOf(entry).map((ip) => [ip, entry.key.slice(nodePrefix.length)] as const)),
  )
}

/** Caches addresses by store entry: a Node stays unchanged for minutes, and holds much beside its addresses. */
const known = new WeakMap<StoredEntry, readonly Ip[]>()

function addressesOf(entry: StoredEntry): readonly Ip[] {
  const found = known.get(entry) ?? parseAddresses(JSON.parse(entry.value) as ApiDocument)
  known.set(entry, found)
  return found
}

/** Returns the IP addresses of a Node; it skips host names, which are in the same list. */
function parseAddresses(node: ApiDocument): readonly Ip[] {
  return listAt(node['status'], 'addresses').flatMap((item) => parseIp(textAt(item, 'address')) ?? [])
}
