import { type Cidr, cidrContains, hostCidr, type Ip, type IpFamily, ipFamily, isLoopback } from '../../model/ip.ts'
import type { Node } from '../../model/node.ts'
import type { AffinitySettings, LocalTraffic } from '../../netfilter/settings.ts'
import type { DetectLocalMode } from './options.ts'
import type { ProxySettings } from './service-plans.ts'

/** The options of the proxy for both families. */
export interface ProxyOptions {
  readonly clusterCidr: readonly Cidr[]
  readonly detectLocalMode: DetectLocalMode
  readonly podBridgeInterface?: string | undefined
  readonly podInterfaceNamePrefix?: string | undefined
  readonly masqueradeAll: boolean
  readonly masqueradeBit: number
  readonly masqueradeRandomFully: boolean
  readonly nodePortAddresses?: readonly (Cidr | 'primary')[] | undefined
  readonly noLocalEndpoints: 'drop' | 'reject'
  readonly affinityForm: AffinitySettings['form']
  readonly affinityHardTimeout: boolean
  readonly acceptPodTraffic: 'auto' | 'always' | 'never'
  /** Addresses whose port 53 this node answers by itself while it can, past all rules. */
  readonly answeredHere?: readonly Ip[] | undefined
}

/** The known facts about this node; the Node object may be unknown yet. */
export interface NodeFacts {
  readonly nodeName: string
  readonly node: Node | undefined
  readonly localAddresses: ReadonlySet<Ip>
  /** nf_conntrack_tcp_be_liberal: the kernel calls no packet of TCP invalid for its window. */
  readonly isConntrackLiberal: boolean
  /** Pods get their network by the list that we ship, so no other program accepts what is forwarded to them. */
  readonly isNetworkOurs: boolean
}

/** Everything beside the objects that shapes one family's rules. Lists are sorted: equal situations give equal settings. */
export function planSettings(family: IpFamily, options: ProxyOptions, facts: NodeFacts): ProxySettings {
  const { nodeName, node, isConntrackLiberal } = facts
  const local = localTraffic(family, options, node)
  const nodePortAddresses = chooseNodePortAddresses(family, options, facts)
  const answeredHere = ofFamily(options.answeredHere ?? [], family)
  const acceptedPods = chooseAcceptedPods(family, options, facts)
  return {
    nodeName,
    family,
    ...(node?.zone !== undefined && { zone: node.zone }),
    ...(answeredHere.length > 0 && { answeredHere }),
    ...(local !== undefined && { localTraffic: local }),
    masqueradeAll: options.masqueradeAll,
    masqueradeBit: options.masqueradeBit,
    randomFully: options.masqueradeRandomFully,
    nodeIps: primaryIps(family, node),
    ...(nodePortAddresses !== undefined && { nodePortAddresses }),
    noLocalEndpoints: options.noLocalEndpoints,
    dropInvalid: !isConntrackLiberal,
    ...(acceptedPods.length > 0 && { acceptedPods }),
    affinity: { form: options.affinityForm, isHard: options.affinityHardTimeout },
  }
}

/** Returns the addresses of health check ports: those on which node ports are open; undefined for all addresses of this node. */
export function planHealthAddresses(options: ProxyOptions, facts: NodeFacts): readonly Ip[] | undefined {
  const [ofIpv4, ofIpv6] = (['IPv4', 'IPv6'] as const).map((family) => chooseNodePortAddresses(family, options, facts))
  if (ofIpv4 === undefined && ofIpv6 === undefined) return undefined
  const own = [...facts.localAddresses].filter((address) => !address.startsWith('fe80:'))
  return [...(ofIpv4 ?? ofFamily(own, 'IPv4')), ...(ofIpv6 ?? ofFamily(own, 'IPv6'))]
}

/** Undefined as long as it cannot be known: nothing is masqueraded on suspicion. */
function localTraffic(family: IpFamily, options: ProxyOptions, node: Node | undefined): LocalTraffic | undefined {
  const bySource = (cidrs: readonly Cidr[]): LocalTraffic | undefined => {
    const cidr = cidrs.find((network) => ipFamily(network) === family)
    return cidr && { kind: 'source', cidr }
  }
  const byInterface = (name: string | undefined, isPrefix: boolean): LocalTraffic | undefined =>
    name === undefined ? undefined : { kind: 'interface', name, isPrefix }
  switch (options.detectLocalMode) {
    case 'ClusterCIDR':
      return bySource(options.clusterCidr)
    case 'NodeCIDR':
      return bySource(node?.podCidrs ?? [])
    case 'BridgeInterface':
      return byInterface(options.podBridgeInterface, false)
    case 'InterfaceNamePrefix':
      return byInterface(options.podInterfaceNamePrefix, true)
  }
}

/** The cluster's pods and this node's. Where a CNI plugin of others accepts them itself, ours would let in what its policies refuse. */
function chooseAcceptedPods(
  family: IpFamily,
  { acceptPodTraffic, clusterCidr }: ProxyOptions,
  { node, isNetworkOurs }: NodeFacts,
): readonly Cidr[] {
  if (acceptPodTraffic === 'never' || (acceptPodTraffic === 'auto' && !isNetworkOurs)) return []
  const all = [...new Set([...clusterCidr, ...(node?.podCidrs ?? [])])].filter((cidr) => ipFamily(cidr) === family)
  return all.filter((cidr) => !all.some((other) => other !== cidr && cidrContains(other, cidr))).sort()
}

/** Undefined for all addresses: where nothing is said, or a network that holds every address. */
function chooseNodePortAddresses(
  family: IpFamily,
  { nodePortAddresses: wished }: ProxyOptions,
  { node, localAddresses }: NodeFacts,
): readonly Ip[] | undefined {
  if (wished === undefined) return undefined
  if (wished.includes('primary')) return primaryIps(family, node)
  const networks = wished.filter((each): each is Cidr => each !== 'primary' && ipFamily(each as Cidr) === family)
  if (networks.length === 0 || networks.some((network) => network.endsWith('/0'))) return undefined
  const own = [...localAddresses].filter((address) =>
    networks.some((network) => cidrContains(network, hostCidr(address))),
  )
  return ofFamily(own, family).filter((address) => !isLoopback(address))
}

/** The first of its addresses in each family: an internal one where it has any. */
function primaryIps(family: IpFamily, node: Node | undefined): readonly Ip[] {
  return (node?.addresses ?? []).filter((address) => ipFamily(address) === family).slice(0, 1)
}

function ofFamily(addresses: readonly Ip[], family: IpFamily): readonly Ip[] {
  return addresses.filter((address) => ipFamily(address) === family).sort()
}
