import type { Node, Taint } from '../objects/node.ts'
import { tolerates, untoleratedTaint } from '../objects/tolerations.ts'
import { matchesNodeSelection } from './node-fit.ts'
import { antiAffinityOf, availableOn, type HostPort, type NodeLoad, type PodDemand } from './placed-pod.ts'
import type { SpreadConstraint } from './requirements.ts'
import { domainsWith, isMeant, skewWith, spreadCounts } from './topology.ts'

/**
 * Returns the reasons why a pod cannot run on a node, in the words that `kubectl describe pod` shows; empty if it can.
 */
export type Filter = (load: NodeLoad) => readonly string[]

/** Returns all filters of a pod. What concerns the whole cluster is computed once for all nodes. */
export function filtersFor(
  demand: PodDemand,
  loads: ReadonlyMap<string, NodeLoad>,
  unschedulableTaint: string,
): readonly Filter[] {
  return [...nodeFilters(demand, unschedulableTaint), ...neighbourFilters(demand, loads)]
}

/** Returns the filters that depend only on the node and the pods on it. */
export function nodeFilters(demand: PodDemand, unschedulableTaint: string): readonly Filter[] {
  return [
    unschedulableFilter(demand, unschedulableTaint),
    taintFilter(demand),
    ({ node }) =>
      matchesNodeSelection(demand.requirements, node) ? [] : ["node(s) didn't match Pod's node affinity/selector"],
    (load) => (hasFreePorts(load, demand) ? [] : ["node(s) didn't have free ports for the requested pod ports"]),
    (load) => lackingResources(load, demand),
    ...volumeFilters(demand),
  ]
}

function volumeFilters({ volumes }: PodDemand): readonly Filter[] {
  return volumes === undefined ? [] : [({ node }) => volumes.reasonsAgainst(node)]
}

/** Checks whether the pod has inter-pod affinity, anti-affinity or topology spread constraints. */
export function statesNeighbours({ requirements }: PodDemand): boolean {
  const { affinity, topologySpreadConstraints } = requirements
  const terms = [affinity.podAffinity, affinity.podAntiAffinity].flatMap((each) => [
    ...each.requiredDuringSchedulingIgnoredDuringExecution,
    ...each.preferredDuringSchedulingIgnoredDuringExecution,
  ])
  return terms.length + topologySpreadConstraints.length > 0
}

/** Checks whether any pod on the nodes has anti-affinity. */
export function isAnyRepelling(loads: ReadonlyMap<string, NodeLoad>): boolean {
  return loads.values().some(({ repelling }) => repelling.length > 0)
}

/** Returns the filters that depend on pods on other nodes; empty if no such constraint exists. */
export function neighbourFilters(demand: PodDemand, loads: ReadonlyMap<string, NodeLoad>): readonly Filter[] {
  return [
    ...spreadFilters(demand, loads),
    ...affinityFilters(demand, loads),
    ...antiAffinityFilters(demand, loads),
    ...existingAntiAffinityFilters(demand, loads),
  ]
}

function unschedulableFilter({ requirements }: PodDemand, key: string): Filter {
  const taint: Taint = { key, value: '', effect: 'NoSchedule' }
  const isTolerated = requirements.tolerations.some((toleration) => tolerates(toleration, taint))
  return ({ node }) => (node.spec.unschedulable && !isTolerated ? ['node(s) were unschedulable'] : [])
}

function repellingTaint({ spec }: Node, { requirements }: PodDemand): Taint | undefined {
  return untoleratedTaint(spec.taints, requirements.tolerations, ['NoSchedule', 'NoExecute'])
}

function taintFilter(demand: PodDemand): Filter {
  return ({ node }) => {
    const taint = repellingTaint(node, demand)
    return taint === undefined ? [] : [`node(s) had untolerated taint {${taint.key}: ${taint.value}}`]
  }
}

function hasFreePorts({ pods }: NodeLoad, { hostPorts }: PodDemand): boolean {
  return hostPorts.every((wanted) => !pods.some((other) => other.hostPorts.some((taken) => collide(wanted, taken))))
}

function collide(one: HostPort, other: HostPort): boolean {
  if (one.port !== other.port || one.protocol !== other.protocol) return false
  return one.ip === other.ip || [one.ip, other.ip].includes('0.0.0.0')
}

const oneWhole = 1_000n

/**
 * Returns a reason for each resource that the node lacks. A node that reports no resources has no limits; a node that
 * reports some has none of those it does not list.
 */
function lackingResources({ node, pods, requested }: NodeLoad, { requests }: PodDemand): readonly string[] {
  const available = availableOn(node)
  if (available.size === 0) return []
  const most = available.get('pods')
  const isFull = most !== undefined && BigInt(pods.length + 1) * oneWhole > most
  const lacking = [...requests].filter(
    ([resource, amount]) => amount > 0n && (requested.get(resource) ?? 0n) + amount > (available.get(resource) ?? 0n),
  )
  return [...(isFull ? ['Too many pods'] : []), ...lacking.map(([resource]) => `Insufficient ${resource}`)]
}

function spreadFilters(demand: PodDemand, loads: ReadonlyMap<string, NodeLoad>): readonly Filter[] {
  const hard = demand.requirements.topologySpreadConstraints.filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule',
  )
  return hard.map((constraint): Filter => {
    const counts = spreadCounts(loads, constraint, demand, (load) => isSpreadOver(load, constraint, demand))
    return ({ node }) => {
      const domain = node.metadata.labels[constraint.topologyKey]
      if (domain === undefined) return ["node(s) didn't match pod topology spread constraints (missing required label)"]
      const isEven = skewWith(counts, domain, constraint) <= constraint.maxSkew
      return isEven ? [] : ["node(s) didn't match pod topology spread constraints"]
    }
  })
}

/**
 * Checks whether a spread constraint counts the node. Nodes that the pod cannot use are not counted, unless the
 * constraint says so.
 */
function isSpreadOver(
  { node }: NodeLoad,
  { nodeAffinityPolicy, nodeTaintsPolicy }: SpreadConstraint,
  demand: PodDemand,
): boolean {
  if (nodeAffinityPolicy === 'Honor' && !matchesNodeSelection(demand.requirements, node)) return false
  return nodeTaintsPolicy === 'Ignore' || repellingTaint(node, demand) === undefined
}

/** Returns the filters of pod affinity. The first pod of a group with affinity to itself may run on any node. */
function affinityFilters(demand: PodDemand, loads: ReadonlyMap<string, NodeLoad>): readonly Filter[] {
  const terms = demand.requirements.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution
  return terms.map((term): Filter => {
    const domains = domainsWith(loads, term.topologyKey, (other) => isMeant(term, demand, other))
    const isFirst = domains.size === 0 && isMeant(term, demand, demand)
    return ({ node }) => {
      const domain = node.metadata.labels[term.topologyKey]
      const isThere = domain !== undefined && (isFirst || domains.has(domain))
      return isThere ? [] : ["node(s) didn't match pod affinity rules"]
    }
  })
}

function antiAffinityFilters(demand: PodDemand, loads: ReadonlyMap<string, NodeLoad>): readonly Filter[] {
  return antiAffinityOf(demand).map((term): Filter => {
    const domains = domainsWith(loads, term.topologyKey, (other) => isMeant(term, demand, other))
    return ({ node }) =>
      domains.has(node.metadata.labels[term.topologyKey] ?? '') ? ["node(s) didn't match pod anti-affinity rules"] : []
  })
}

/** Returns the filters for anti-affinity of pods that already run. */
function existingAntiAffinityFilters(demand: PodDemand, loads: ReadonlyMap<string, NodeLoad>): readonly Filter[] {
  const closed = new Set<string>()
  for (const { node, repelling } of loads.values()) {
    for (const other of repelling) {
      for (const term of antiAffinityOf(other).filter((candidate) => isMeant(candidate, other, demand))) {
        const domain = node.metadata.labels[term.topologyKey]
        if (domain !== undefined) closed.add(`${term.topologyKey}=${domain}`)
      }
    }
  }
  if (closed.size === 0) return []
  const isClosed = ({ node }: NodeLoad) =>
    Object.entries(node.metadata.labels).some(([key, value]) => closed.has(`${key}=${value}`))
  return [(load) => (isClosed(load) ? ["node(s) didn't satisfy existing pods anti-affinity rules"] : [])]
}
