import { compact } from '../model/compact.ts'
import { hostCidr } from '../model/ip.ts'
import type { Frontend, FrontendEndpoint } from './frontend.ts'
import { endpointChain, serviceChain } from './names.ts'
import { fromSource, jump, named, ofProtocol, oneOf, otherTraffic, rule, toAddress, toMarkMasq } from './rule-parts.ts'
import type { Chain, Match, Target } from './ruleset.ts'
import type { AddressSet } from './sets.ts'
import type { ProxyRuleSettings } from './settings.ts'

type NamedChain = readonly [name: string, chain: Chain]

/** An ipset holds this many clients by default. */
const maxClientsPerEndpoint = 65_536

/** An endpoint with the name of its chain, which is also its affinity list's. */
interface NamedEndpoint extends FrontendEndpoint {
  readonly chain: string
}

/** The chains that choose an endpoint, for each traffic policy in use, and one for each endpoint. */
export function endpointChains(frontend: Frontend, settings: ProxyRuleSettings): readonly NamedChain[] {
  const cluster = frontend.clusterEndpoints.map((endpoint) => nameEndpoint(frontend, endpoint))
  const local = frontend.localEndpoints.map((endpoint) => nameEndpoint(frontend, endpoint))
  return [
    ...balanceChain(frontend, 'SVC', cluster, settings),
    ...balanceChain(frontend, 'SVL', local, settings),
    ...withoutRepeats([...cluster, ...local]).map(
      (endpoint): NamedChain => [endpoint.chain, translate(frontend, endpoint, settings)],
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
  const endpoints = [...frontend.clusterEndpoints, ...frontend.localEndpoints]
  return withoutRepeats(endpoints.map((endpoint) => nameEndpoint(frontend, endpoint))).map(({ chain }) => [chain, set])
}

function nameEndpoint({ servicePort, protocol }: Frontend, { address, port }: FrontendEndpoint): NamedEndpoint {
  return { address, port, chain: endpointChain(servicePort, protocol, address, port) }
}

function withoutRepeats(endpoints: readonly NamedEndpoint[]): readonly NamedEndpoint[] {
  return [...new Map(endpoints.map((endpoint) => [endpoint.chain, endpoint])).values()]
}

function balanceChain(
  frontend: Frontend,
  kind: 'SVC' | 'SVL',
  endpoints: readonly NamedEndpoint[],
  settings: ProxyRuleSettings,
): readonly NamedChain[] {
  if (endpoints.length === 0) return []
  const balance: Chain = [
    ...masqueradeToClusterIp(frontend, settings),
    ...endpoints.flatMap((endpoint) => stickToEndpoint(frontend, endpoint, settings)),
    ...endpoints.map((endpoint, index) => pickEndpoint(endpoint, endpoints.length - index)),
  ]
  return [[serviceChain(frontend.servicePort, frontend.protocol, kind), compact(named(balance, frontend.servicePort))]]
}

/** The endpoint may be on another node, which could not send its answer to where the packet came from, except to pods. */
function masqueradeToClusterIp(frontend: Frontend, settings: ProxyRuleSettings): Chain {
  const toClusterIp = toAddress(frontend, frontend.clusterIp)
  if (settings.masqueradeAll === true) return [rule(toClusterIp, toMarkMasq)]
  if (settings.localTraffic === undefined) return []
  const matches = [otherTraffic(settings.localTraffic), ...toClusterIp]
  return [rule(compact(matches), toMarkMasq)]
}

/** Matches clients that used this endpoint within the timeout, so that they get it again. */
function stickToEndpoint(frontend: Frontend, endpoint: NamedEndpoint, { affinity }: ProxyRuleSettings): Chain {
  if (frontend.affinity === undefined) return []
  const { chain } = endpoint
  const seen: Match =
    affinity?.form === 'ipset'
      ? { kind: 'in-set', set: chain, by: ['src'] }
      : seenWithin(chain, frontend.affinity.timeoutSeconds)
  return [rule([seen], jump(chain))]
}

/** The probability stands on the last rule too, where it is 1 (spec 2.12 rule 1). */
function pickEndpoint({ chain }: NamedEndpoint, candidates: number): Chain[number] {
  return rule(oneOf(candidates), jump(chain))
}

/** An endpoint that reaches itself through the Service must not see its own address as the source (hairpin). */
function translate(frontend: Frontend, endpoint: NamedEndpoint, settings: ProxyRuleSettings): Chain {
  const { affinity } = frontend
  const all = ofProtocol(frontend)
  const dnat: Target = { kind: 'dnat', address: endpoint.address, port: endpoint.port }
  const list = endpoint.chain
  const masquerade = rule([fromSource(hostCidr(endpoint.address))], toMarkMasq)
  if (affinity === undefined) return [masquerade, rule(all, dnat)]
  const isHard = settings.affinity?.isHard === true
  if (settings.affinity?.form === 'ipset') {
    const remember: Target = { kind: 'add-to-set', set: list, by: ['src'], refresh: !isHard }
    return [masquerade, rule(all, remember), rule(all, dnat)]
  }
  // With a hard timeout, a remembered client is translated without a renewal of its entry.
  const known = rule([...all, seenWithin(list, affinity.timeoutSeconds)], dnat)
  const remembered = rule([...all, { kind: 'recent-set', list }], dnat)
  return [masquerade, ...(isHard ? [known] : []), remembered]
}

function seenWithin(list: string, seconds: number): Match {
  return { kind: 'recent-check', list, seconds }
}
