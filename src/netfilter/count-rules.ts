import type { Frontend } from './frontend.ts'
import type { ProxyRuleSettings } from './settings.ts'

/**
 * The cost of a client list (of `recent`) or set, in rules: when a rule with it is added, the kernel searches all lists
 * for it.
 */
const rulesPerClientList = 10

/** The rules of one port that do not depend on how many endpoints, addresses and source ranges it has, at most. */
const fixedRules = 12

/**
 * At most how many rules `lowerService` makes of these, without making them, client lists counted as ten rules each. For an endpoint of a
 * port: three (a choice, hairpin, translation), with affinity fourteen; twice the choice where both policies are in use. For an external
 * address of a port two, for a source range one.
 */
export function countRules(frontends: readonly Frontend[], settings: ProxyRuleSettings): number {
  return frontends.reduce((sum, frontend) => sum + countOfPort(frontend, settings), 0)
}

function countOfPort(frontend: Frontend, settings: ProxyRuleSettings): number {
  const { clusterEndpoints, localEndpoints, externalIps, loadBalancerVips, sourceRanges = [] } = frontend
  const chosen = clusterEndpoints.length + localEndpoints.length
  // An endpoint that is chosen by both policies has one chain: the smaller count is of endpoints of the larger.
  const endpoints = Math.max(clusterEndpoints.length, localEndpoints.length)
  const addresses = externalIps.length + loadBalancerVips.length
  const { choose, translate } = costOfEndpoint(frontend, settings)
  return (
    fixedRules + chosen * choose + endpoints * translate + 2 * addresses + sourceRanges.length + loadBalancerVips.length
  )
}

/** The cost of one endpoint of a port. */
export function costOfEndpoint(
  { affinity }: Pick<Frontend, 'affinity'>,
  settings: ProxyRuleSettings,
): { readonly choose: number; readonly translate: number } {
  if (affinity === undefined) return { choose: 1, translate: 2 }
  const remember = settings.affinity?.form === 'ipset' || settings.affinity?.isHard === true ? 1 : 0
  return { choose: 2, translate: 2 + remember + rulesPerClientList }
}
