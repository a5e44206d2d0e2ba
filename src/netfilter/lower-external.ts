import { type Cidr, cidrContains, hostCidr } from '../model/ip.ts'
import { type Frontend, isExternal } from './frontend.ts'
import { serviceChain } from './names.ts'
import { fromSource, fromThisNode, jump, localTraffic, named, rule, toMarkMasq } from './rule-parts.ts'
import type { Chain, Rule } from './ruleset.ts'
import type { ProxyRuleSettings } from './settings.ts'

type NamedChain = readonly [name: string, chain: Chain]

/** The chain that everything from an external way enters (none where a node port alone can do without), and a load balancer's door. */
export function externalChains(frontend: Frontend, settings: ProxyRuleSettings): readonly NamedChain[] {
  if (!frontend.hasEndpoints || !isExternal(frontend)) return []
  const whose = frontend.servicePort
  const external: NamedChain[] = usesExternalChain(frontend)
    ? [[externalChainOf(frontend), named(externalChain(frontend, settings), whose)]]
    : []
  if (!hasFirewall(frontend)) return external
  return [...external, [firewallChainOf(frontend), named(firewallChain(frontend, settings), whose)]]
}

/** Under the policy Cluster a node port leads straight to the Service's chain (spec 2.12). */
function usesExternalChain(frontend: Frontend): boolean {
  const { externalPolicy, externalIps, nodePort } = frontend
  return (nodePort !== undefined && externalPolicy === 'Local') || externalIps.length > 0 || isBalancerOpen(frontend)
}

/** Whether anybody may use the load balancer's addresses. */
export function isBalancerOpen({ loadBalancerVips, sourceRanges }: Frontend): boolean {
  return loadBalancerVips.length > 0 && sourceRanges?.length !== 0
}

export function externalChainOf({ servicePort, protocol }: Frontend): string {
  return serviceChain(servicePort, protocol, 'EXT')
}

export function firewallChainOf({ servicePort, protocol }: Frontend): string {
  return serviceChain(servicePort, protocol, 'FW')
}

/** Whether some sources may use the load balancer and others may not. */
export function hasFirewall({ loadBalancerVips, sourceRanges = [] }: Frontend): boolean {
  return loadBalancerVips.length > 0 && sourceRanges.length > 0
}

function externalChain(frontend: Frontend, settings: ProxyRuleSettings): Chain {
  const all = jump(serviceChain(frontend.servicePort, frontend.protocol, 'SVC'))
  if (frontend.externalPolicy === 'Cluster') return [rule([], toMarkMasq), rule([], all)]
  const onNode = jump(serviceChain(frontend.servicePort, frontend.protocol, 'SVL'))
  return [
    ...shortCircuitPods(frontend, settings),
    rule([fromThisNode], toMarkMasq),
    rule([fromThisNode], all),
    ...(frontend.localEndpoints.length > 0 ? [rule([], onNode)] : []),
  ]
}

/** Short-circuit: traffic from the cluster reaches every endpoint, whatever the external traffic policy, and pods are not masqueraded. */
function shortCircuitPods(frontend: Frontend, { localTraffic: detector }: ProxyRuleSettings): readonly Rule[] {
  if (detector === undefined) return []
  const all = jump(serviceChain(frontend.servicePort, frontend.protocol, 'SVC'))
  return [rule([localTraffic(detector)], all)]
}

/** Returns the chain that admits the source ranges; other packets stay untranslated and meet a verdict in filter. */
function firewallChain(frontend: Frontend, settings: ProxyRuleSettings): Chain {
  const enter = (source: Cidr) => rule([fromSource(source)], jump(externalChainOf(frontend)))
  return admittedSources(frontend, settings).map(enter)
}

/** The networks that may use the load balancer of a frontend with source ranges. */
export function admittedSources(
  { sourceRanges = [], loadBalancerVips }: Frontend,
  { nodeIps = [] }: ProxyRuleSettings,
): readonly Cidr[] {
  const isNodeAllowed = sourceRanges.some((range) => nodeIps.some((ip) => cidrContains(range, hostCidr(ip))))
  // A node that holds the address itself uses it as the source, too.
  return [...sourceRanges, ...(isNodeAllowed ? loadBalancerVips.map(hostCidr) : [])]
}
