/** Everything of CNI attachments that was found on this node. */
export interface FoundOnNode {
  readonly attachments: readonly FoundAttachment[]
  /** Files of the result cache that cannot be parsed, for example empty ones. */
  readonly unreadableFiles: readonly string[]
  readonly addresses: readonly FoundAddress[]
  readonly chains: readonly FoundChain[]
}

interface FoundAttachment {
  readonly network: string
  readonly containerId: string
  readonly ifName: string
  /** True if this program made it, and not containerd, CRI-O or cnitool. */
  readonly isOurs: boolean
  /** True if its namespace exists. */
  readonly hasNetns: boolean
}

/** An address that host-local has reserved. */
export interface FoundAddress {
  readonly file: string
  readonly network: string
  readonly ip: string
  readonly containerId: string
  readonly ageMs: number
}

/** A chain of the nat table that a plugin made for one container, with the rules that jump to it in the notation of iptables-save. */
export interface FoundChain {
  readonly program: 'iptables' | 'ip6tables'
  readonly chain: string
  readonly containerId: string
  /** Rules such as `-A POSTROUTING … -j CHAIN`. */
  readonly jumps: readonly string[]
}

export interface Leftovers {
  /** Attachments to remove by DEL. */
  readonly attachments: readonly FoundAttachment[]
  readonly unreadableFiles: readonly string[]
  readonly addresses: readonly FoundAddress[]
  readonly chains: readonly FoundChain[]
}

/** Age below which an address is kept: another runtime writes its result after its plugins are done, and until then the address has no owner. */
const youngMs = 60_000

/**
 * Plans what no living container needs. `live` names the living containers of this program. Without it, and for containers of other
 * runtimes, a container lives as long as its namespace exists. What a living attachment could need is never a leftover.
 */
export function planLeftovers(found: FoundOnNode, live: ReadonlySet<string> | undefined): Leftovers {
  const isAlive = (attachment: FoundAttachment) =>
    live !== undefined && attachment.isOurs ? live.has(attachment.containerId) : attachment.hasNetns
  const alive = new Set([...(live ?? []), ...found.attachments.filter(isAlive).map(({ containerId }) => containerId)])
  const attachments = found.attachments.filter((attachment) => !isAlive(attachment))
  // DEL releases what belongs to its attachment, so nothing of that is released here.
  const remembered = new Set(attachments.map(({ containerId }) => containerId))
  const isForgotten = (containerId: string) => !alive.has(containerId) && !remembered.has(containerId)
  const addresses = found.addresses.filter(({ containerId, ageMs }) => isForgotten(containerId) && ageMs >= youngMs)
  const released = new Set(addresses.map(({ file }) => file))
  const holders = new Set(
    found.addresses.filter(({ file }) => !released.has(file)).map(({ containerId }) => containerId),
  )
  return {
    attachments,
    unreadableFiles: found.unreadableFiles.filter((file) => ![...alive].some((id) => file.includes(`-${id}-`))),
    addresses,
    chains: found.chains.filter(({ containerId }) => isForgotten(containerId) && !holders.has(containerId)),
  }
}
