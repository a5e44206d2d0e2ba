import type { IpFamily } from '../../model/ip.ts'
import type { NetworkPolicy, PolicyRule } from '../../model/network-policy.ts'
import { named, rule } from '../rule-parts.ts'
import type { Chain, Match, Rule, Target } from '../ruleset.ts'
import { networkElement } from './elements.ts'
import { lowerPorts, type PortName } from './lower-ports.ts'
import { type PolicyDirection, peerSet, policyChain, policyChains, portSet } from './names.ts'
import { canonicalPeers, type PeerList, type PodSelection } from './peers.ts'
import { areAllAddresses, blockNetworks } from './ranges.ts'

/** Which pods a set holds: those of any of the selections, those of this node, or all. */
type PodChoice = readonly PodSelection[] | 'local' | 'all'

/** A set that the rules of policies name. Its name follows from everything else here. */
export interface PolicySet {
  readonly name: string
  readonly pods: PodChoice
  /** Elements that stand whatever pods there are. */
  readonly fixed: readonly string[]
  /** Present: the set holds each pod's ports of this name (`hash:ip,port`). Absent: addresses and networks (`hash:net`). */
  readonly port?: PortName
}

/** A policy in one direction. */
export interface LoweredPolicy {
  /** The chain's name, which follows from the policy's name and the pods it selects. */
  readonly name: string
  readonly chain: Chain
  readonly sets: readonly PolicySet[]
}

interface LoweredRule {
  readonly rules: readonly Rule[]
  readonly sets: readonly PolicySet[]
}

/** The peers of a rule in one family. */
interface Peers {
  /** Absent: every address, also of no pod. */
  readonly set?: PolicySet
  /** The pods among them, whose named ports an egress rule means. */
  readonly pods: PodChoice
}

const allow: Target = { kind: 'goto', chain: policyChains.allow }

/** Lowers a policy that isolates in this direction. Packets that a rule allows leave the chain by `PLAT-NP-OK`, the others return. */
export function lowerPolicy(policy: NetworkPolicy, direction: PolicyDirection, family: IpFamily): LoweredPolicy {
  const lowered = (policy[direction] ?? []).map((each) => lowerRule(each, policy.namespace, direction, family))
  const sets = new Map(lowered.flatMap((each) => each.sets).map((set) => [set.name, set]))
  const chain = named(
    lowered.flatMap(({ rules }) => rules),
    policy.key,
  )
  return { name: policyChain(direction, policy.key, policy.podSelector), chain, sets: [...sets.values()] }
}

function lowerRule(
  { peers: given, ports }: PolicyRule,
  namespace: string,
  direction: PolicyDirection,
  family: IpFamily,
): LoweredRule {
  const peers = given === undefined ? ({ pods: 'all' } as const) : lowerPeers(canonicalPeers(given, namespace), family)
  if (peers === undefined) return { rules: [], sets: [] }
  const { numbers, names } = lowerPorts(ports)
  const fromPeers: readonly Match[] = peers.set === undefined ? [] : [matchPeers(peers.set, direction)]
  const portSets = names.flatMap((name) => lowerName(name, peers, direction, family))
  const withNames = portSets.map(({ name }) => {
    const hasPort: Match = { kind: 'in-set', set: name, by: ['dst', 'dst'] }
    return rule(direction === 'ingress' ? [...fromPeers, hasPort] : [hasPort], allow)
  })
  const usesPeers = numbers.length > 0 || (direction === 'ingress' && portSets.length > 0)
  return {
    rules: [...numbers.map((match) => rule([...match, ...fromPeers], allow)), ...withNames],
    sets: [...(usesPeers && peers.set !== undefined ? [peers.set] : []), ...portSets],
  }
}

/** Undefined where no address of this family can be a peer. */
function lowerPeers(list: PeerList, family: IpFamily): Peers | undefined {
  const networks = blockNetworks(list.blocks, family)
  if (areAllAddresses(networks)) return { pods: list.pods }
  if (list.pods.length === 0 && networks.length === 0) return undefined
  const name = peerSet(family, JSON.stringify([list.pods, networks]))
  return { set: { name, pods: list.pods, fixed: networks.map(networkElement) }, pods: list.pods }
}

function matchPeers({ name }: PolicySet, direction: PolicyDirection): Match {
  return { kind: 'in-set', set: name, by: [direction === 'ingress' ? 'src' : 'dst'] }
}

/** The ports of the destination: of ingress a pod of this node, of egress a pod among the peers. */
function lowerName(port: PortName, peers: Peers, direction: PolicyDirection, family: IpFamily): readonly PolicySet[] {
  const pods = direction === 'ingress' ? 'local' : peers.pods
  if (pods.length === 0) return []
  return [{ name: portSet(family, JSON.stringify([pods, port.name, port.protocol])), pods, fixed: [], port }]
}
