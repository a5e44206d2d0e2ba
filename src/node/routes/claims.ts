import { type Cidr, cidrContains, cidrsOverlap, hostCidr, type Ip } from '../../model/ip.ts'
import { describeSpecialKind, specialKindIn, specialKindOf } from '../../model/special-addresses.ts'
import { DisjointNetworks } from './disjoint-networks.ts'
import type { NetworkNode } from './plan.ts'

/** The reasons why this node does not use a claim of a Node object; a closed set, also the label of the metric. */
export const claimReasons = [
  'special-address',
  'outside-cluster-cidr',
  'overlaps-service-range',
  'overlaps-own-network',
  'overlaps-older-node',
  'overlaps-local-route',
  'address-of-this-node',
  'address-of-pods',
] as const

export type ClaimReason = (typeof claimReasons)[number]

/** A network or an address of a Node object that this node does not use. */
export interface RefusedClaim {
  readonly node: string
  readonly claim: Cidr | Ip
  readonly reason: ClaimReason
  /** `node b`, `loopback (127.0.0.0/8, ::1/128)`: what it conflicts with, for people. */
  readonly with: string
}

export interface ClaimSettings {
  readonly nodeName: string
  readonly clusterCidrs: readonly Cidr[]
  readonly serviceCidrs: readonly Cidr[]
  /** Networks inside the cluster's own to which the kernel has routes that are not ours. */
  readonly localRoutes: readonly Cidr[]
}

export interface SettledClaims {
  /** Every Node, the oldest first, with what remains of its claims. */
  readonly nodes: readonly NetworkNode[]
  readonly refused: readonly RefusedClaim[]
}

type Verdict = Pick<RefusedClaim, 'reason' | 'with'> | undefined

/**
 * Which networks and addresses of Node objects this node may route. A node writes its own status, in some clusters its podCIDR
 * too: a network counts inside the cluster's networks only, this node's own network is never another's, and of two other
 * Nodes that claim the same the older one has it. Pure; the order of `nodes` makes no difference.
 */
export function settleClaims(nodes: Iterable<NetworkNode>, settings: ClaimSettings): SettledClaims {
  const byAge = [...nodes].toSorted(byAgeThenUid)
  const own = byAge.find(({ name }) => name === settings.nodeName)
  const ownCidrs = own?.podCidrs.filter((cidr) => judgeNetwork(cidr, settings) === undefined) ?? []
  const others = {
    ownCidrs,
    held: new DisjointNetworks(),
    localRoutes: DisjointNetworks.outermost(settings.localRoutes),
  }
  const refused: RefusedClaim[] = []

  function sift<Claim extends Cidr | Ip>(
    node: NetworkNode,
    claims: readonly Claim[],
    judge: (claim: Claim) => Verdict,
  ) {
    return claims.filter((claim) => {
      const verdict = judge(claim)
      if (verdict !== undefined) refused.push({ node: node.name, claim, ...verdict })
      return verdict === undefined
    })
  }

  const settled = byAge.map((node) => {
    const isOwn = node.name === settings.nodeName
    const podCidrs = sift(node, node.podCidrs, (cidr) => {
      const verdict = judgeNetwork(cidr, settings) ?? (isOwn ? undefined : judgeBeside(cidr, others))
      // This node's own network is kept apart: an older Node's claim to it must not take it from here.
      if (verdict === undefined && !isOwn) others.held.add(cidr, node.name)
      return verdict
    })
    const ips = sift(node, node.ips, (ip) => judgeAddress(ip, settings) ?? (isOwn ? undefined : judgeGateway(ip, own)))
    return { ...node, podCidrs, ips }
  })
  return { nodes: settled, refused }
}

/** For the log: `node b claims 0.0.0.0/0: outside-cluster-cidr (10.244.0.0/16)`. */
export function describeRefusal({ node, claim, reason, with: other }: RefusedClaim): string {
  return `node ${node} claims ${claim}: ${reason} (${other})`
}

function judgeNetwork(cidr: Cidr, { clusterCidrs, serviceCidrs }: ClaimSettings): Verdict {
  const special = specialKindIn(cidr)
  if (special !== undefined) return { reason: 'special-address', with: describeSpecialKind(special) }
  if (!clusterCidrs.some((cluster) => cidrContains(cluster, cidr)))
    return { reason: 'outside-cluster-cidr', with: clusterCidrs.join() }
  const range = serviceCidrs.find((each) => cidrsOverlap(each, cidr))
  return range && { reason: 'overlaps-service-range', with: range }
}

interface Others {
  readonly ownCidrs: readonly Cidr[]
  /** Claims of older other Nodes. */
  readonly held: DisjointNetworks
  readonly localRoutes: DisjointNetworks
}

function judgeBeside(cidr: Cidr, { ownCidrs, held, localRoutes }: Others): Verdict {
  const own = ownCidrs.find((each) => cidrsOverlap(each, cidr))
  if (own !== undefined) return { reason: 'overlaps-own-network', with: own }
  const holder = held.holderOf(cidr)
  if (holder !== undefined) return { reason: 'overlaps-older-node', with: `node ${holder}` }
  const route = localRoutes.holderOf(cidr)
  return route === undefined ? undefined : { reason: 'overlaps-local-route', with: route }
}

function judgeAddress(ip: Ip, { clusterCidrs }: ClaimSettings): Verdict {
  const special = specialKindOf(ip)
  if (special !== undefined) return { reason: 'special-address', with: describeSpecialKind(special) }
  const pods = clusterCidrs.find((cluster) => cidrContains(cluster, hostCidr(ip)))
  return pods && { reason: 'address-of-pods', with: pods }
}

/** Two other Nodes may claim one address: each only leads its own pods' traffic there. */
function judgeGateway(ip: Ip, own: NetworkNode | undefined): Verdict {
  if (own?.ips.includes(ip) !== true) return undefined
  return { reason: 'address-of-this-node', with: `node ${own.name}` }
}

/** A Node that does not say when it was made is the youngest. */
function byAgeThenUid(a: NetworkNode, b: NetworkNode): number {
  if (a.createdAtMs !== b.createdAtMs) return a.createdAtMs < b.createdAtMs ? -1 : 1
  return compareText(a.uid, b.uid) || compareText(a.name, b.name)
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}
