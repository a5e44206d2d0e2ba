import { type Filter, isAnyRepelling, neighbourFilters, nodeFilters, statesNeighbours } from './filters.ts'
import { emptyLoad, type NodeLoad, type PodDemand, place } from './placed-pod.ts'

export interface Preemption {
  readonly node: string
  /** The pods that must be deleted before the pod can run on the node. */
  readonly victims: readonly PodDemand[]
}

type Loads = ReadonlyMap<string, NodeLoad>

/**
 * Chooses the node on which the pod can run after the least harmful preemption: by the highest priority of the victims,
 * then by their number, then by the name of the node. Victims have a lower priority than the pod. They are as few as
 * possible, and the more important pods are kept first. Returns undefined if no preemption helps.
 */
export function planPreemption(demand: PodDemand, loads: Loads, unschedulableTaint: string): Preemption | undefined {
  if (demand.pod.spec.preemptionPolicy === 'Never') return undefined
  const filters = nodeFilters(demand, unschedulableTaint)
  const minded = statesNeighbours(demand) || isAnyRepelling(loads)
  const fits = (load: NodeLoad) => {
    const suits = (filter: Filter) => filter(load).length === 0
    if (!filters.every(suits)) return false
    return !minded || neighbourFilters(demand, new Map([...loads, [load.node.metadata.name, load]])).every(suits)
  }
  const options = [...loads.values()].flatMap((load) => {
    const victims = findVictims(demand, load, fits)
    return victims === undefined || victims.length === 0 ? [] : [{ node: load.node.metadata.name, victims }]
  })
  return options.sort(byHarm)[0]
}

/** Checks whether victims on the pod's nominated node are still terminating. */
export function isMakingRoom({ pods }: NodeLoad, demand: PodDemand): boolean {
  return pods.some(
    ({ pod }) => pod.metadata.deletionTimestamp !== undefined && pod.spec.priority < demand.pod.spec.priority,
  )
}

/** Returns the victims on one node; undefined if the pod could not run there even without them. */
function findVictims(
  demand: PodDemand,
  load: NodeLoad,
  suits: (load: NodeLoad) => boolean,
): readonly PodDemand[] | undefined {
  if (load.lowestPriority >= demand.pod.spec.priority) return undefined
  const lower = load.pods.filter(({ pod }) => pod.spec.priority < demand.pod.spec.priority)
  const fits = (kept: readonly PodDemand[]) => suits(loadOf(load, kept))
  const staying = load.pods.filter(({ pod }) => pod.spec.priority >= demand.pod.spec.priority)
  if (!fits(staying)) return undefined
  const victims: PodDemand[] = []
  for (const candidate of lower.toSorted(byWorth)) {
    if (fits([...staying, candidate])) staying.push(candidate)
    else victims.push(candidate)
  }
  return victims
}

function loadOf({ node }: NodeLoad, pods: readonly PodDemand[]): NodeLoad {
  const load = emptyLoad(node)
  for (const each of pods) place(load, each)
  return load
}

/** Compares two pods: the more important first, of equals the older. */
function byWorth({ pod: one }: PodDemand, { pod: other }: PodDemand): number {
  const byAge = Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp)
  return other.spec.priority - one.spec.priority || byAge || (one.metadata.name < other.metadata.name ? -1 : 1)
}

function byHarm(one: Preemption, other: Preemption): number {
  const highest = ({ victims }: Preemption) => Math.max(...victims.map(({ pod }) => pod.spec.priority))
  return highest(one) - highest(other) || one.victims.length - other.victims.length || (one.node < other.node ? -1 : 1)
}
