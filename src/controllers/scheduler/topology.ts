import { selects } from '../objects/selector.ts'
import type { NodeLoad, PodDemand } from './placed-pod.ts'
import type { PodTerm, SpreadConstraint } from './requirements.ts'

type Loads = ReadonlyMap<string, NodeLoad>

/** Whether a pod is one the term speaks of; without namespaces it means those of the pod that states it. */
export function isMeant(term: PodTerm, stated: PodDemand, other: PodDemand): boolean {
  const namespaces = term.namespaces.length > 0 ? term.namespaces : [stated.pod.metadata.namespace ?? '']
  if (!namespaces.includes(other.pod.metadata.namespace ?? '')) return false
  return term.labelSelector !== undefined && selects(term.labelSelector, other.pod.metadata.labels)
}

/** The values of a topology key where a pod runs that `isWanted` says yes to. */
export function domainsWith(loads: Loads, key: string, isWanted: (other: PodDemand) => boolean): ReadonlySet<string> {
  const domains = new Set<string>()
  for (const { node, pods } of loads.values()) {
    const domain = node.metadata.labels[key]
    if (domain !== undefined && !domains.has(domain) && pods.some(isWanted)) domains.add(domain)
  }
  return domains
}

/** Matching pods in each domain of the key, over nodes the pod may use at all. */
export function spreadCounts(
  loads: Loads,
  constraint: SpreadConstraint,
  demand: PodDemand,
  isEligible: (load: NodeLoad) => boolean,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const load of loads.values()) {
    const domain = load.node.metadata.labels[constraint.topologyKey]
    if (domain === undefined || !isEligible(load)) continue
    const matching = load.pods.filter((other) => isCounted(constraint, demand, other)).length
    counts.set(domain, (counts.get(domain) ?? 0) + matching)
  }
  return counts
}

function isCounted({ labelSelector }: SpreadConstraint, demand: PodDemand, { pod }: PodDemand): boolean {
  if (pod.metadata.deletionTimestamp !== undefined) return false
  if (pod.metadata.namespace !== demand.pod.metadata.namespace) return false
  return labelSelector !== undefined && selects(labelSelector, pod.metadata.labels)
}

/** How uneven the domains would be with one more pod there, against the emptiest; fewer domains than `minDomains` count as an empty one. */
export function skewWith(
  counts: ReadonlyMap<string, number>,
  domain: string,
  { minDomains }: SpreadConstraint,
): number {
  const emptiest = counts.size < minDomains ? 0 : Math.min(...counts.values())
  return (counts.get(domain) ?? 0) + 1 - emptiest
}
