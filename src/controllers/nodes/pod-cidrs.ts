import { bigIntToIp, type Cidr, cidrRange, ipFamily, parseCidr } from '../../model/ip.ts'

/** How large a node's own network is, as a prefix length; a cluster network smaller than that goes whole to one node. */
const nodePrefix = { IPv4: 24, IPv6: 64 } as const

/** What a node has that others may not get; texts that are no network count for nothing. */
export interface TakenCidrs {
  readonly podCIDRs: readonly string[]
}

export interface NodeCidrs {
  /** By the name of the node: one network for each of the cluster's, in their order. */
  readonly assigned: ReadonlyMap<string, readonly Cidr[]>
  /** Nodes for which nothing was left, each with the cluster network that is full. */
  readonly refused: ReadonlyMap<string, Cidr>
}

/** Gives each of the nodes the lowest network that overlaps nothing anyone has, in the order of their names. */
export function assignPodCidrs(
  clusterCidrs: readonly Cidr[],
  taken: readonly TakenCidrs[],
  nodes: readonly string[],
): NodeCidrs {
  const ranges = taken.flatMap(({ podCIDRs }) => podCIDRs.flatMap((text) => parseCidr(text) ?? [])).map(cidrRange)
  const pools = clusterCidrs.map((cidr) => ({ cidr, next: freeBlocks(cidr, ranges) }))
  const assigned = new Map<string, readonly Cidr[]>()
  const refused = new Map<string, Cidr>()
  for (const node of nodes.toSorted()) {
    const blocks: Cidr[] = []
    for (const { cidr, next } of pools) {
      const block = next.next()
      if (block.done === true) refused.set(node, cidr)
      else blocks.push(block.value)
    }
    if (blocks.length === pools.length) assigned.set(node, blocks)
  }
  return { assigned, refused }
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
