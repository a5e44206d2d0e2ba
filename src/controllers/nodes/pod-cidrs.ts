import { bigIntToIp, type Cidr, cidrContains, cidrRange, ipFamily, parseCidr } from '../../model/ip.ts'

/** The prefix length of a node's network; a smaller cluster network goes whole to one node. */
const nodePrefix = { IPv4: 24, IPv6: 64 } as const

/** The networks in a node's spec; texts that are no network are ignored. */
export interface TakenCidrs {
  readonly name: string
  readonly podCIDRs: readonly string[]
}

/** A network of a node that this controller did not assign and would not: no node routes it. */
export interface ForeignCidr {
  readonly node: string
  readonly cidr: string
}

/** A cluster network that is full, and the node that holds the most of it. */
export interface Refusal {
  readonly cidr: Cidr
  readonly largest: { readonly node: string; readonly cidr: Cidr } | undefined
}

export interface NodeCidrs {
  /** The networks by the name of the node: one for each of the cluster's, in their order. */
  readonly assigned: ReadonlyMap<string, readonly Cidr[]>
  /** The nodes for which no network was left. */
  readonly refused: ReadonlyMap<string, Refusal>
}

/**
 * Assigns each node the lowest network that overlaps no network of another node, in the order of their names. Networks outside the cluster networks
 * are ignored: `0.0.0.0/0` of one node does not take every network.
 */
export function assignPodCidrs(
  clusterCidrs: readonly Cidr[],
  taken: readonly TakenCidrs[],
  nodes: readonly string[],
): NodeCidrs {
  const held = taken.flatMap(({ name, podCIDRs }) =>
    podCIDRs.flatMap((text) => {
      const cidr = parseCidr(text)
      return cidr !== undefined && isInside(clusterCidrs, cidr) ? [{ node: name, cidr }] : []
    }),
  )
  const ranges = held.map(({ cidr }) => cidrRange(cidr))
  const pools = clusterCidrs.map((cidr) => ({ cidr, next: freeBlocks(cidr, ranges) }))
  const assigned = new Map<string, readonly Cidr[]>()
  const refused = new Map<string, Refusal>()
  for (const node of nodes.toSorted()) {
    const blocks: Cidr[] = []
    for (const { cidr, next } of pools) {
      const block = next.next()
      if (block.done === true) refused.set(node, { cidr, largest: findLargest(cidr, held) })
      else blocks.push(block.value)
    }
    if (blocks.length === pools.length) assigned.set(node, blocks)
  }
  return { assigned, refused }
}

/** Returns the texts in nodes' specs that are no network or lie in no cluster network. */
export function findForeignCidrs(clusterCidrs: readonly Cidr[], taken: readonly TakenCidrs[]): readonly ForeignCidr[] {
  return taken.flatMap(({ name, podCIDRs }) =>
    podCIDRs
      .filter((text) => {
        const cidr = parseCidr(text)
        return cidr === undefined || !isInside(clusterCidrs, cidr)
      })
      .map((cidr) => ({ node: name, cidr })),
  )
}

function isInside(clusterCidrs: readonly Cidr[], cidr: Cidr): boolean {
  return clusterCidrs.some((cluster) => cidrContains(cluster, cidr))
}

function findLargest(cluster: Cidr, held: readonly { readonly node: string; readonly cidr: Cidr }[]) {
  const length = (cidr: Cidr) => Number(cidr.slice(cidr.indexOf('/') + 1))
  const inside = held.filter(({ cidr }) => cidrContains(cluster, cidr))
  return inside.toSorted((a, b) => length(a.cidr) - length(b.cidr))[0]
}

type Range = ReturnType<typeof cidrRange>

function* freeBlocks(cluster: Cidr, taken: readonly Range[]): Generator<Cidr> {
  const family = ipFamily(cluster)
  const { first, last } = cidrRange(cluster)
  const prefix = Math.max(nodePrefix[family], Number(cluster.slice(cluster.indexOf('/') + 1)))
  const size = 1n << BigInt((family === 'IPv4' ? 32 : 128) - prefix)
  const busy = taken.filter((range) => range.family === family).sort(byFirst)
  let passed = 0
  for (let block = first; block + size - 1n <= last; ) {
    while (passed < busy.length && (busy[passed]?.last ?? 0n) < block) passed++
    const hindrance = busy[passed]
    if (hindrance === undefined || hindrance.first >= block + size) {
      yield `${bigIntToIp(block, family)}/${prefix}` as Cidr
      block += size
    } else {
      const after = hindrance.last + 1n - first
      block = first + ((after + size - 1n) / size) * size
    }
  }
}

function byFirst(one: Range, other: Range): number {
  return one.first < other.first ? -1 : one.first > other.first ? 1 : 0
}
