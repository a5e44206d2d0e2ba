import { untoleratedTaint } from '../objects/tolerations.ts'
import { matchesTerm } from './node-fit.ts'
import { availableOn, type NodeLoad, type PodDemand } from './placed-pod.ts'
import type { PodTerm } from './requirements.ts'
import { isMeant, spreadCounts } from './topology.ts'

/**
 * Returns the score of a node; a higher one is better. Preferences count more than free resources, and these more than
 * the number of pods.
 */
export type Score = (load: NodeLoad) => number

export function scoreFor(demand: PodDemand, loads: ReadonlyMap<string, NodeLoad>): Score {
  const scores = [
    nodePreference(demand),
    ...podPreferences(demand, loads),
    ...softSpread(demand, loads),
    taintAversion(demand),
  ]
  return (load) =>
    scores.reduce((sum, score) => sum + score(load) * 10, 0) + freeShare(load, demand) - load.pods.length / 100
}

function nodePreference({ requirements }: PodDemand): Score {
  const preferred = requirements.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution
  return ({ node }) =>
    preferred.reduce((sum, { weight, preference }) => sum + (matchesTerm(preference, node) ? weight : 0), 0)
}

function podPreferences(demand: PodDemand, loads: ReadonlyMap<string, NodeLoad>): readonly Score[] {
  const { podAffinity, podAntiAffinity } = demand.requirements.affinity
  const near = podAffinity.preferredDuringSchedulingIgnoredDuringExecution.map((term) => ({ ...term, sign: 1 }))
  const far = podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.map((term) => ({ ...term, sign: -1 }))
  return [...near, ...far].map(({ weight, podAffinityTerm, sign }) => {
    const counts = countByDomain(demand, loads, podAffinityTerm)
    return ({ node }) => sign * weight * (counts.get(node.metadata.labels[podAffinityTerm.topologyKey] ?? '') ?? 0)
  })
}

function countByDomain(
  demand: PodDemand,
  loads: ReadonlyMap<string, NodeLoad>,
  term: PodTerm,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { node, pods } of loads.values()) {
    const domain = node.metadata.labels[term.topologyKey]
    if (domain === undefined) continue
    const matching = pods.filter((other) => isMeant(term, demand, other)).length
    counts.set(domain, (counts.get(domain) ?? 0) + matching)
  }
  return counts
}

function softSpread(demand: PodDemand, loads: ReadonlyMap<string, NodeLoad>): readonly Score[] {
  const soft = demand.requirements.topologySpreadConstraints.filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === 'ScheduleAnyway',
  )
  return soft.map((constraint) => {
    const counts = spreadCounts(loads, constraint, demand, () => true)
    return ({ node }) => -(counts.get(node.metadata.labels[constraint.topologyKey] ?? '') ?? 0)
  })
}

function taintAversion({ requirements }: PodDemand): Score {
  return ({ node }) =>
    untoleratedTaint(node.spec.taints, requirements.tolerations, ['PreferNoSchedule']) === undefined ? 0 : -100
}

/** Returns how much CPU and memory stay free with the pod on the node, in percent of what the node has. */
function freeShare({ node, requested }: NodeLoad, { requests }: PodDemand): number {
  const available = availableOn(node)
  const shares = ['cpu', 'memory'].map((resource) => {
    const has = available.get(resource) ?? 0n
    const used = (requested.get(resource) ?? 0n) + (requests.get(resource) ?? 0n)
    return has === 0n ? 0 : Number(((has - used) * 100n) / has)
  })
  return shares.reduce((sum, share) => sum + share, 0) / shares.length
}
