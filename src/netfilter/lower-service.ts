import { compact } from '../model/compact.ts'
import type { Ip } from '../model/ip.ts'
import type { Frontend } from './frontend.ts'
import { affinitySets, endpointChains } from './lower-endpoints.ts'
import { externalChainOf, externalChains, firewallChainOf, hasFirewall, isBalancerOpen } from './lower-external.ts'
import { serviceChain } from './names.ts'
import { isExternalServed, isInternalServed, notLetIn, type Refusal, refusal } from './refusal.ts'
import { jump, rule, toAddress, toMarkMasq, toPort } from './rule-parts.ts'
import type { Chain, Match, Rule, Target } from './ruleset.ts'
import type { AddressSets } from './sets.ts'
import type { ProxyRuleSettings } from './settings.ts'

/** A Service's part in each chain that all Services share. */
export interface DispatchRules {
  readonly natServices: Chain
  readonly natNodePorts: Chain
  readonly filterServices: Chain
  readonly filterExternal: Chain
  readonly filterNodePorts: Chain
}

export interface ServiceRules {
  /** PLAT-SVC-, -SVL-, -EXT-, -FW- and -SEP- chains, all in nat and of this Service alone. */
  readonly chains: ReadonlyMap<string, Chain>
  /** Must stand before the chains and go after them. */
  readonly sets: AddressSets
  readonly dispatch: DispatchRules
}

const noSets: AddressSets = new Map()

/** All rules of one Service (spec 2.12). */
export function lowerService(frontends: readonly Frontend[], settings: ProxyRuleSettings): ServiceRules {
  const sets = frontends.flatMap((frontend) => affinitySets(frontend, settings))
  return {
    chains: new Map(
      frontends.flatMap((frontend) => [...endpointChains(frontend, settings), ...externalChains(frontend, settings)]),
    ),
    sets: sets.length === 0 ? noSets : new Map(sets),
    dispatch: {
      natServices: compact(frontends.flatMap(dispatchByAddress)),
      natNodePorts: compact(frontends.flatMap(dispatchByNodePort)),
      filterServices: compact(frontends.flatMap((frontend) => verdictOnClusterIp(frontend, settings))),
      filterExternal: compact(frontends.flatMap((frontend) => verdictsOnExternal(frontend, settings))),
      filterNodePorts: compact([
        ...acceptHealthChecks(frontends),
        ...frontends.flatMap((frontend) => verdictByNodePort(frontend, settings)),
      ]),
    },
  }
}

function dispatchByAddress(frontend: Frontend): readonly Rule[] {
  const { servicePort, hasEndpoints, clusterIp, externalIps, loadBalancerVips } = frontend
  const lead = (address: Ip, chain: string) => rule(toAddress(frontend, address), jump(chain))
  const internal = serviceChain(servicePort, frontend.protocol, frontend.internalPolicy === 'Local' ? 'SVL' : 'SVC')
  const entrance = hasFirewall(frontend) ? firewallChainOf(frontend) : externalChainOf(frontend)
  const isOpen = hasEndpoints && isBalancerOpen(frontend)
  return [
    ...(isInternalServed(frontend) ? [lead(clusterIp, internal)] : []),
    ...(hasEndpoints ? externalIps.map((ip) => lead(ip, externalChainOf(frontend))) : []),
    ...(isOpen ? loadBalancerVips.map((vip) => lead(vip, entrance)) : []),
  ]
}

/** Under the policy Cluster always masqueraded: the endpoint may be on another node, and its answer has to come back through this one. */
function dispatchByNodePort(frontend: Frontend): readonly Rule[] {
  const { servicePort, nodePort, protocol } = frontend
  if (nodePort === undefined || !frontend.hasEndpoints) return []
  const match = [toPort(frontend, nodePort)]
  if (frontend.externalPolicy === 'Local') return [rule(match, jump(externalChainOf(frontend)))]
  return [rule(match, toMarkMasq), rule(match, jump(serviceChain(servicePort, protocol, 'SVC')))]
}

function verdictOnClusterIp(frontend: Frontend, settings: ProxyRuleSettings): readonly Rule[] {
  const found = refusal(frontend, isInternalServed(frontend), settings)
  return found ? [refuse(frontend, toAddress(frontend, frontend.clusterIp), found)] : []
}

function verdictsOnExternal(frontend: Frontend, settings: ProxyRuleSettings): readonly Rule[] {
  const { externalIps, loadBalancerVips } = frontend
  const found = refusal(frontend, isExternalServed(frontend), settings)
  const onBalancer = found ?? notLetIn(frontend)
  return [
    ...(found ? externalIps.map((ip) => refuse(frontend, toAddress(frontend, ip), found)) : []),
    ...(onBalancer ? loadBalancerVips.map((vip) => refuse(frontend, toAddress(frontend, vip), onBalancer)) : []),
  ]
}

function verdictByNodePort(frontend: Frontend, settings: ProxyRuleSettings): readonly Rule[] {
  const found = refusal(frontend, isExternalServed(frontend), settings)
  if (frontend.nodePort === undefined || found === undefined) return []
  return [refuse(frontend, [toPort(frontend, frontend.nodePort)], found)]
}

function refuse(frontend: Frontend, matches: readonly Match[], { verdict, reason }: Refusal): Rule {
  return rule(matches, targetOf(frontend, verdict), `${frontend.servicePort} ${reason}`)
}

/**
 * A connection is refused by a reset: an ICMP message gets lost where it comes back while the client's socket is still locked by its connect(), as on
 * one machine it does, and the client tries again after a second. Resets are also never rate-limited.
 */
function targetOf({ protocol }: Frontend, verdict: Refusal['verdict']): Target {
  if (verdict === 'drop') return { kind: 'drop' }
  return protocol === 'TCP' ? { kind: 'reject', withReset: true } : { kind: 'reject' }
}

/** The health port is the Service's, and stands once whatever ports it has. */
function acceptHealthChecks([frontend]: readonly Frontend[]): readonly Rule[] {
  if (frontend?.healthCheckNodePort === undefined) return []
  const match = { kind: 'destination-port', protocol: 'tcp', port: frontend.healthCheckNodePort } as const
  return [rule([match], { kind: 'accept' }, `${frontend.servicePort} health check`)]
}
