import { type Filter, filtersFor } from './filters.ts'
import type { NodeLoad, PodDemand } from './placed-pod.ts'
import { scoreFor } from './score.ts'

export type Placement =
  | { readonly kind: 'placed'; readonly node: string }
  /** `message` says how many nodes will not do for which reason. */
  | { readonly kind: 'unschedulable'; readonly message: string }

/** The node a pod should run on, of those that satisfy all it asks for; the one with the highest score, of equals the first by name. */
export function planPlacement(
  demand: PodDemand,
  loads: ReadonlyMap<string, NodeLoad>,
  unschedulableTaint: string,
): Placement {
  if (loads.size === 0) return { kind: 'unschedulable', message: 'no nodes available to schedule pods' }
  const filters = filtersFor(demand, loads, unschedulableTaint)
  const reasons = new Map<string, number>()
  const fitting = [...loads.values()].filter((load) => {
    const why = firstRefusal(filters, load)
    for (const reason of why) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    return why.length === 0
  })
  if (fitting.length === 0) return { kind: 'unschedulable', message: describeReasons(loads.size, reasons) }
  const score = scoreFor(demand, loads)
  const scored = fitting.map((load) => ({ name: load.node.metadata.name, score: score(load) }))
  const [best] = scored.sort((one, other) => other.score - one.score || (one.name < other.name ? -1 : 1))
  return best === undefined ? { kind: 'unschedulable', message: '' } : { kind: 'placed', node: best.name }
}

/** Each node counts under the first thing it lacks, as one is mended after the other. */
function firstRefusal(filters: readonly Filter[], load: NodeLoad): readonly string[] {
  for (const filter of filters) {
    const why = filter(load)
    if (why.length > 0) return why
  }
  return []
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
function describeReasons(nodes: number, reasons: ReadonlyMap<string, number>): string {
  const parts = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort()
  return `0/${nodes} nodes are available: ${parts.join(', ')}.`
}

/** Pods of higher priority first, then the older ones. */
export function schedulingOrder(one: PodDemand, other: PodDemand): number {
  const byPriority = other.pod.spec.priority - one.pod.spec.priority
  const byAge = Date.parse(one.pod.metadata.creationTimestamp) - Date.parse(other.pod.metadata.creationTimestamp)
  return byPriority || byAge || (one.pod.metadata.name < other.pod.metadata.name ? -1 : 1)
}
