import { hostCidr } from '../model/ip.ts'
import type { Frontend, FrontendEndpoint } from './frontend.ts'
import { chains, endpointChain, serviceChain } from './names.ts'
import { renderAddressPort } from './render.ts'
import { fromSource, jump, otherTraffic, protocolOf, rule, toAddress } from './rule-parts.ts'
import type { Chain, Match, Target } from './ruleset.ts'
import type { AddressSet } from './sets.ts'
import type { ProxyRuleSettings } from './settings.ts'

type NamedChain = readonly [name: string, chain: Chain]

/** As many clients as an ipset holds when nothing else is said. */
const maxClientsPerEndpoint = 65_536

/** The chains that choose an endpoint, for each traffic policy in use, and one for each endpoint. */
export function endpointChains(frontend: Frontend, settings: ProxyRuleSettings): readonly NamedChain[] {
  return [
    ...balanceChain(frontend, 'SVC', frontend.clusterEndpoints, settings),
    ...balanceChain(frontend, 'SVL', frontend.localEndpoints, settings),
    ...usedEndpoints(frontend).map(
      (endpoint): NamedChain => [endpointChainOf(frontend, endpoint), translate(frontend, endpoint, settings)],
    ),
  ]
}

/** One for each endpoint, where clients are remembered in ipsets. */
export function affinitySets(
  frontend: Frontend,
  { family, affinity }: ProxyRuleSettings,
): readonly (readonly [name: string, set: AddressSet])[] {
  if (frontend.affinity === undefined || affinity?.form !== 'ipset') return []
  const set = { family, timeoutSeconds: frontend.affinity.timeoutSeconds, maxElements: maxClientsPerEndpoint }
  return usedEndpoints(frontend).map((endpoint) => [endpointChainOf(frontend, endpoint), set])
}

function usedEndpoints({ clusterEndpoints, localEndpoints }: Frontend): readonly FrontendEndpoint[] {
  const all = [...clusterEndpoints, ...localEndpoints]
  return [...new Map(all.map((endpoint) => [renderAddressPort(endpoint.address, endpoint.port), endpoint])).values()]
}

function balanceChain(
  frontend: Frontend,
  kind: 'SVC' | 'SVL',
  endpoints: readonly FrontendEndpoint[],
  settings: ProxyRuleSettings,
): readonly NamedChain[] {
  if (endpoints.length === 0) return []
  const balance: Chain = [
    ...masqueradeToClusterIp(frontend, settings),
    ...endpoints.flatMap((endpoint) => stickToEndpoint(frontend, endpoint, settings)),
    ...endpoints.map((endpoint, index) => pickEndpoint(frontend, endpoint, 1 / (endpoints.length - index))),
  ]
  return [[serviceChain(frontend.servicePort, frontend.protocol, kind), balance]]
}

/** The endpoint may be on another node, which could not send its answer to where the packet came from, except to pods. */
function masqueradeToClusterIp(frontend: Frontend, settings: ProxyRuleSettings): Chain {
  const toClusterIp = toAddress(frontend, frontend.clusterIp)
  if (settings.masqueradeAll === true)
    return [rule(toClusterIp, jump(chains.markMasq), `${frontend.servicePort} cluster IP, masquerade all`)]
  if (settings.localTraffic === undefined) return []
  const matches = [otherTraffic(settings.localTraffic), ...toClusterIp]
  return [rule(matches, jump(chains.markMasq), `${frontend.servicePort} from outside the cluster`)]
}

/** Whoever used this endpoint within the timeout gets it again. */
function stickToEndpoint(frontend: Frontend, endpoint: FrontendEndpoint, { affinity }: ProxyRuleSettings): Chain {
  if (frontend.affinity === undefined) return []
  const list = endpointChainOf(frontend, endpoint)
  const seen: Match =
    affinity?.form === 'ipset' ? { kind: 'in-set', set: list } : seenWithin(list, frontend.affinity.timeoutSeconds)
  return [rule([seen], jump(list), toEndpoint(frontend, endpoint))]
}

/** The probability stands on the last rule too, where it is 1 (spec 2.12 rule 1). */
function pickEndpoint(frontend: Frontend, endpoint: FrontendEndpoint, probability: number): Chain[number] {
  const picked: Match = { kind: 'statistic', probability }
  return rule([picked], jump(endpointChainOf(frontend, endpoint)), toEndpoint(frontend, endpoint))
}

/** An endpoint that reaches itself through the Service must not see its own address as the source (hairpin). */
function translate(frontend: Frontend, endpoint: FrontendEndpoint, settings: ProxyRuleSettings): Chain {
  const { servicePort, affinity } = frontend
  const ofProtocol: Match = { kind: 'protocol', protocol: protocolOf(frontend) }
  const dnat: Target = { kind: 'dnat', address: endpoint.address, port: endpoint.port }
  const list = endpointChainOf(frontend, endpoint)
  const masquerade = rule([fromSource(hostCidr(endpoint.address))], jump(chains.markMasq), servicePort)
  if (affinity === undefined) return [masquerade, rule([ofProtocol], dnat, servicePort)]
  const isHard = settings.affinity?.isHard === true
  if (settings.affinity?.form === 'ipset') {
    const remember: Target = { kind: 'add-to-set', set: list, refresh: !isHard }
    return [masquerade, rule([ofProtocol], remember, servicePort), rule([ofProtocol], dnat, servicePort)]
  }
  // With a hard timeout, whoever is remembered is translated without being remembered anew.
  const known = rule([ofProtocol, seenWithin(list, affinity.timeoutSeconds)], dnat, servicePort)
  const remembered = rule([ofProtocol, { kind: 'recent-set', list }], dnat, servicePort)
  return [masquerade, ...(isHard ? [known] : []), remembered]
}

function seenWithin(list: string, seconds: number): Match {
  return { kind: 'recent-check', list, seconds }
}

function endpointChainOf(frontend: Frontend, endpoint: FrontendEndpoint): string {
  return endpointChain(frontend.servicePort, frontend.protocol, endpoint.address, endpoint.port)
}

function toEndpoint(frontend: Frontend, endpoint: FrontendEndpoint): string {
  return `${frontend.servicePort} -> ${renderAddressPort(endpoint.address, endpoint.port)}`
}
