import { selects } from '../objects/selector.ts'
import type { NodeLoad, PodDemand } from './placed-pod.ts'
import type { PodTerm, SpreadConstraint } from './requirements.ts'

type Loads = ReadonlyMap<string, NodeLoad>

/** Checks whether the term of the pod `stated` selects the pod `other`. */
export function isMeant(term: PodTerm, stated: PodDemand, other: PodDemand): boolean {
  if (!isNamespaceMeant(term, stated, other) || !areLabelsMeant(term, stated, other)) return false
  const own = stated.pod.metadata.labels
  return term.mismatchLabelKeys.every((key) => own[key] === undefined || other.pod.metadata.labels[key] !== own[key])
}

/**
 * Checks whether the term covers the namespace of the other pod: listed and selected namespaces, or without either the
 * namespace of the pod that has the term.
 */
function isNamespaceMeant({ namespaces, namespaceSelector }: PodTerm, stated: PodDemand, other: PodDemand): boolean {
  const { namespace = '' } = other.pod.metadata
  if (namespaces.includes(namespace)) return true
  if (namespaceSelector !== undefined) return selects(namespaceSelector, other.namespaceLabels)
  return namespaces.length === 0 && namespace === stated.pod.metadata.namespace
}

/**
 * Checks whether the term selects the labels of the other pod. A term without a selector selects nothing. A key of
 * `matchLabelKeys` that the pod itself does not have is ignored.
 */
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

/** Returns the values of a topology key on nodes with a pod for which `isWanted` is true. */
export function domainsWith(loads: Loads, key: string, isWanted: (other: PodDemand) => boolean): ReadonlySet<string> {
  const domains = new Set<string>()
  for (const { node, pods } of loads.values()) {
    const domain = node.metadata.labels[key]
    if (domain !== undefined && !domains.has(domain) && pods.some(isWanted)) domains.add(domain)
  }
  return domains
}

/** Counts the matching pods in each domain of the key, over the nodes that the constraint counts. */
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

/**
 * Returns the skew after one more pod in the domain, against the domain with the fewest pods. With fewer domains than
 * `minDomains`, that domain counts as empty.
 */
export function skewWith(
  counts: ReadonlyMap<string, number>,
  domain: string,
  { minDomains }: SpreadConstraint,
): number {
  const emptiest = counts.size < minDomains ? 0 : Math.min(...counts.values())
  return (counts.get(domain) ?? 0) + 1 - emptiest
}
