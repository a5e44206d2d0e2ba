/** What stands on this node of CNI attachments, as it was found. */
export interface FoundOnNode {
  readonly attachments: readonly FoundAttachment[]
  /** Files of the result cache that say nothing, for example because they are empty. */
  readonly unreadableFiles: readonly string[]
  readonly addresses: readonly FoundAddress[]
  readonly chains: readonly FoundChain[]
}

interface FoundAttachment {
  readonly network: string
  readonly containerId: string
  readonly ifName: string
  /** Made by this program, and not by containerd, CRI-O or cnitool. */
  readonly isOurs: boolean
  /** Its namespace stands. */
  readonly hasNetns: boolean
}

/** One reservation of host-local. */
export interface FoundAddress {
  readonly file: string
  readonly network: string
  readonly ip: string
  readonly containerId: string
  readonly ageMs: number
}

/** A chain of the nat table that a plugin made for one container, with the rules that lead into it as they were saved. */
export interface FoundChain {
  readonly program: 'iptables' | 'ip6tables'
  readonly chain: string
  readonly containerId: string
  /** `-A POSTROUTING … -j CHAIN`. */
  readonly jumps: readonly string[]
}

export interface Leftovers {
  /** To be undone by DEL. */
  readonly attachments: readonly FoundAttachment[]
  readonly unreadableFiles: readonly string[]
  readonly addresses: readonly FoundAddress[]
  readonly chains: readonly FoundChain[]
}

/** Another runtime writes its result after its plugins are done: until then its address looks as if it were nobody's. */
const youngMs = 60_000

/**
 * What no living container needs any more. `live` names the containers of this program that live; without it (nobody can say), and for
 * containers of others, one lives as long as its namespace stands. What an attachment that lives could need is never a leftover.
 */
export function planLeftovers(found: FoundOnNode, live: ReadonlySet<string> | undefined): Leftovers {
  const isAlive = (attachment: FoundAttachment) =>
    live !== undefined && attachment.isOurs ? live.has(attachment.containerId) : attachment.hasNetns
  const alive = new Set([...(live ?? []), ...found.attachments.filter(isAlive).map(({ containerId }) => containerId)])
  const attachments = found.attachments.filter((attachment) => !isAlive(attachment))
  // What is undone by DEL is not taken away under it.
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
