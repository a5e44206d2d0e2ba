import { selects } from '../objects/selector.ts'
import type { NodeLoad, PodDemand } from './placed-pod.ts'
import type { PodTerm, SpreadConstraint } from './requirements.ts'

type Loads = ReadonlyMap<string, NodeLoad>

/** Whether a pod is one the term speaks of. */
export function isMeant(term: PodTerm, stated: PodDemand, other: PodDemand): boolean {
  if (!isNamespaceMeant(term, stated, other) || !areLabelsMeant(term, stated, other)) return false
  const own = stated.pod.metadata.labels
  return term.mismatchLabelKeys.every((key) => own[key] === undefined || other.pod.metadata.labels[key] !== own[key])
}

/** Returns the listed and the selected namespaces of a term; without either, the namespace of its pod. */
function isNamespaceMeant({ namespaces, namespaceSelector }: PodTerm, stated: PodDemand, other: PodDemand): boolean {
  const { namespace = '' } = other.pod.metadata
  if (namespaces.includes(namespace)) return true
  if (namespaceSelector !== undefined) return selects(namespaceSelector, other.namespaceLabels)
  return namespaces.length === 0 && namespace === stated.pod.metadata.namespace
}

/** No selector selects nothing. A key that the stating pod itself does not have asks for nothing. */
function areLabelsMeant(
  { labelSelector, matchLabelKeys }: Pick<PodTerm, 'labelSelector' | 'matchLabelKeys'>,
  stated: PodDemand,
  { pod }: PodDemand,
): boolean {
  const { labels } = pod.metadata
  const own = stated.pod.metadata.labels
  if (labelSelector === undefined || !selects(labelSelector, labels)) return false
  return matchLabelKeys.every((key) => own[key] === undefined || labels[key] === own[key])
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

function isCounted(constraint: SpreadConstraint, demand: PodDemand, other: PodDemand): boolean {
  const { metadata } = other.pod
  if (metadata.deletionTimestamp !== undefined || metadata.namespace !== demand.pod.metadata.namespace) return false
  return areLabelsMeant(constraint, demand, other)
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
