import type { Frontend } from './frontend.ts'
import type { ProxyRuleSettings } from './settings.ts'

/** The numbers by which a port of a Service grows in the kernel. */
interface PortSize {
  /** Addresses beside the cluster IP. */
  readonly addresses: number
  /** Load balancers among these addresses. */
  readonly balancers: number
  readonly sourceRanges: number
  readonly hasAffinity: boolean
  /** Endpoints that may be chosen anywhere, and those of this node where a policy Local chooses among them. */
  readonly endpoints: number
  readonly localEndpoints: number
}

/** How large a port is in the kernel, in one mode of the proxy. */
export interface SizeCount {
  readonly unit: 'rules' | 'elements'
  /** At most how many of them a port makes. */
  ofPort(port: PortSize, settings: ProxyRuleSettings): number
}

/**
 * The cost of a client list (of `recent`) or set, in rules: when a rule with it is added, the kernel searches all lists
 * for it.
 */
const rulesPerClientList = 10

/** The rules of one port that do not depend on how many endpoints, addresses and source ranges it has, at most. */
const fixedRules = 12

/**
 * Counts at most the rules that `lowerService` makes, without making them, client lists counted as ten rules each. For an endpoint of a
 * port: three (a choice, hairpin, translation), with affinity fourteen; twice the choice where both policies are in use. For an external
 * address of a port two, for a source range one.
 */
export const ruleCount: SizeCount = {
  unit: 'rules',
  ofPort: ({ addresses, balancers, sourceRanges, hasAffinity, endpoints, localEndpoints }, settings) => {
    const { choose, translate } = costOfEndpoint(hasAffinity, settings)
    // An endpoint that is chosen by both policies has one chain: the smaller count is of endpoints of the larger.
    const ofEndpoints = (endpoints + localEndpoints) * choose + Math.max(endpoints, localEndpoints) * translate
    return fixedRules + ofEndpoints + 2 * addresses + sourceRanges + balancers
  },
}

/** Counts at most what these frontends make. */
export function countSize({ ofPort }: SizeCount, frontends: readonly Frontend[], settings: ProxyRuleSettings): number {
  return frontends.reduce((sum, frontend) => {
    const { clusterEndpoints, localEndpoints } = frontend
    const numbers = { endpoints: clusterEndpoints.length, localEndpoints: localEndpoints.length }
    return sum + ofPort(sizeOf(frontend, numbers), settings)
  }, 0)
}

/** The part of a port's size that its Service says, planned or not. */
type OfService = Pick<Frontend, 'externalIps' | 'loadBalancerVips' | 'sourceRanges' | 'affinity'>

/** Returns the size of a port with so many endpoints. */
export function sizeOf(
  { externalIps, loadBalancerVips, sourceRanges = [], affinity }: OfService,
  { endpoints, localEndpoints }: Pick<PortSize, 'endpoints' | 'localEndpoints'>,
): PortSize {
  return {
    addresses: externalIps.length + loadBalancerVips.length,
    balancers: loadBalancerVips.length,
    sourceRanges: sourceRanges.length,
    hasAffinity: affinity !== undefined,
    endpoints,
    localEndpoints,
  }
}

function costOfEndpoint(
  hasAffinity: boolean,
  { affinity }: ProxyRuleSettings,
): { readonly choose: number; readonly translate: number } {
  if (!hasAffinity) return { choose: 1, translate: 2 }
  const remember = affinity?.form === 'ipset' || affinity?.isHard === true ? 1 : 0
  return { choose: 2, translate: 2 + remember + rulesPerClientList }
}
