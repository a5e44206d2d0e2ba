import { hostCidr } from '../model/ip.ts'
import type { Frontend, FrontendEndpoint } from './frontend.ts'
import { chains, endpointChain, serviceChain } from './names.ts'
import { renderAddressPort } from './render.ts'
import type { Chain, Match, Rule, Target } from './ruleset.ts'
import type { ProxyRuleSettings } from './settings.ts'

/** A Service's part in each chain that all Services share. */
export interface DispatchRules {
  readonly natServices: Chain
  readonly natNodePorts: Chain
  readonly filterServices: Chain
  readonly filterNodePorts: Chain
}

export interface ServiceRules {
  /** PLAT-SVC- and PLAT-SEP- chains, all in nat and of this Service alone. */
  readonly chains: ReadonlyMap<string, Chain>
  readonly dispatch: DispatchRules
}

/** All rules of one Service (spec 2.12). */
export function lowerService(frontends: readonly Frontend[], settings: ProxyRuleSettings): ServiceRules {
  const live = frontends.filter((frontend) => frontend.clusterEndpoints.length > 0)
  const dead = frontends.filter((frontend) => frontend.clusterEndpoints.length === 0)
  return {
    chains: new Map(live.flatMap((frontend) => ownChains(frontend, settings))),
    dispatch: {
      natServices: live.map(toServiceChain),
      natNodePorts: live.flatMap(nodePortToServiceChain),
      filterServices: dead.map(refuseClusterIp),
      filterNodePorts: dead.flatMap(refuseNodePort),
    },
  }
}

function toServiceChain(frontend: Frontend): Rule {
  return rule(matchClusterIp(frontend), jump(serviceChainOf(frontend)), `${frontend.servicePort} cluster IP`)
}

/** Always masqueraded: the endpoint may be on another node, and its answer has to come back through this one. */
function nodePortToServiceChain(frontend: Frontend): readonly Rule[] {
  return matchNodePort(frontend).flatMap((match) => [
    rule([match], jump(chains.markMasq), `${frontend.servicePort} node port`),
    rule([match], jump(serviceChainOf(frontend)), `${frontend.servicePort} node port`),
  ])
}

function refuseClusterIp(frontend: Frontend): Rule {
  return rule(matchClusterIp(frontend), { kind: 'reject' }, `${frontend.servicePort} has no endpoints`)
}

function refuseNodePort(frontend: Frontend): readonly Rule[] {
  return matchNodePort(frontend).map((match) =>
    rule([match], { kind: 'reject' }, `${frontend.servicePort} has no endpoints`),
  )
}

function ownChains(frontend: Frontend, settings: ProxyRuleSettings): readonly [string, Chain][] {
  const endpoints = frontend.clusterEndpoints
  const balance: Chain = [
    ...masqueradeOffCluster(frontend, settings),
    ...endpoints.flatMap((endpoint) => stickToEndpoint(frontend, endpoint)),
    ...endpoints.map((endpoint, index) => pickEndpoint(frontend, endpoint, 1 / (endpoints.length - index))),
  ]
  return [
    [serviceChainOf(frontend), balance],
    ...endpoints.map((endpoint): [string, Chain] => [
      endpointChainOf(frontend, endpoint),
      translateToEndpoint(frontend, endpoint),
    ]),
  ]
}

function masqueradeOffCluster(frontend: Frontend, settings: ProxyRuleSettings): Chain {
  if (settings.localTraffic?.kind !== 'source') return []
  const offCluster: Match = { kind: 'source', cidr: settings.localTraffic.cidr, negated: true }
  const comment = `${frontend.servicePort} from outside the cluster`
  return [rule([offCluster, ...matchClusterIp(frontend)], jump(chains.markMasq), comment)]
}

/** Whoever used this endpoint within the timeout gets it again. */
function stickToEndpoint(frontend: Frontend, endpoint: FrontendEndpoint): Chain {
  if (frontend.affinity === undefined) return []
  const list = endpointChainOf(frontend, endpoint)
  const seen: Match = { kind: 'recent-check', list, seconds: frontend.affinity.timeoutSeconds }
  return [rule([seen], jump(list), toEndpoint(frontend, endpoint))]
}

/** The probability stands on the last rule too, where it is 1 (spec 2.12 rule 1). */
function pickEndpoint(frontend: Frontend, endpoint: FrontendEndpoint, probability: number): Rule {
  const picked: Match = { kind: 'statistic', probability }
  return rule([picked], jump(endpointChainOf(frontend, endpoint)), toEndpoint(frontend, endpoint))
}

/** An endpoint that reaches itself through the Service must not see its own address as the source (hairpin). */
function translateToEndpoint(frontend: Frontend, endpoint: FrontendEndpoint): Chain {
  const fromItself: Match = { kind: 'source', cidr: hostCidr(endpoint.address) }
  const protocol: Match = { kind: 'protocol', protocol: protocolOf(frontend) }
  const remember: readonly Match[] =
    frontend.affinity === undefined ? [] : [{ kind: 'recent-set', list: endpointChainOf(frontend, endpoint) }]
  const dnat: Target = { kind: 'dnat', address: endpoint.address, port: endpoint.port }
  return [
    rule([fromItself], jump(chains.markMasq), frontend.servicePort),
    rule([protocol, ...remember], dnat, frontend.servicePort),
  ]
}

function matchClusterIp(frontend: Frontend): readonly Match[] {
  return [
    { kind: 'destination', cidr: hostCidr(frontend.clusterIp) },
    { kind: 'destination-port', protocol: protocolOf(frontend), port: frontend.port },
  ]
}

function matchNodePort(frontend: Frontend): readonly Match[] {
  if (frontend.nodePort === undefined) return []
  return [{ kind: 'destination-port', protocol: protocolOf(frontend), port: frontend.nodePort }]
}

function serviceChainOf(frontend: Frontend): string {
  return serviceChain(frontend.servicePort, frontend.protocol)
}

function endpointChainOf(frontend: Frontend, endpoint: FrontendEndpoint): string {
  return endpointChain(frontend.servicePort, frontend.protocol, endpoint.address, endpoint.port)
}

function protocolOf(frontend: Frontend): 'tcp' | 'udp' | 'sctp' {
  const names = { TCP: 'tcp', UDP: 'udp', SCTP: 'sctp' } as const
  return names[frontend.protocol]
}

function toEndpoint(frontend: Frontend, endpoint: FrontendEndpoint): string {
  return `${frontend.servicePort} -> ${renderAddressPort(endpoint.address, endpoint.port)}`
}

function jump(chain: string): Target {
  return { kind: 'jump', chain }
}

function rule(matches: readonly Match[], target: Target, comment: string): Rule {
  return { matches, target, comment }
}
