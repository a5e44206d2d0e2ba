import type { Ip } from '../../model/ip.ts'
import { outerAddresses, readNetworks, uplinkAddresses } from './advertise-address.ts'

/** How long an answer holds: several parts ask, and a node has a link for each pod. */
const heldMs = 1_000

interface FollowedAddress {
  /** `--node-ip`; undefined: the address is looked for. */
  readonly nodeIp: Ip | undefined
  readonly read?: typeof readNetworks
  readonly nowMs?: () => number
}

/**
 * Returns what tells the address of this node as it is now: `--node-ip`, else an address of the interface with the default route, which may come
 * after the agent has started (DHCP), or change while it runs. An address stays the node's as long as that interface has it. While there is no
 * default route the address of the last one stays, since the first one of another interface may be that of a bridge of pods.
 */
export function followNodeAddress(followed: FollowedAddress): () => Ip | undefined {
  const { nodeIp, read = readNetworks, nowMs = () => performance.now() } = followed
  let found: NodeAddress = { address: nodeIp, isUplinks: false }
  let lookedMs = Number.NEGATIVE_INFINITY
  return () => {
    if (nodeIp !== undefined || nowMs() - lookedMs < heldMs) return found.address
    lookedMs = nowMs()
    found = nextAddress(found, read())
    return found.address
  }
}

interface NodeAddress {
  readonly address: Ip | undefined
  /** It was found at an interface with the default route. */
  readonly isUplinks: boolean
}

function nextAddress(before: NodeAddress, networks: ReturnType<typeof readNetworks>): NodeAddress {
  const uplinks = uplinkAddresses(networks)
  const all = uplinks.length > 0 || before.isUplinks ? uplinks : outerAddresses(networks)
  const isKept = before.address !== undefined && (all.length === 0 || all.includes(before.address))
  return { address: isKept ? before.address : all[0], isUplinks: before.isUplinks || uplinks.length > 0 }
}
