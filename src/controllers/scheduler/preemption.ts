import { type Filter, isAnyRepelling, neighbourFilters, nodeFilters, statesNeighbours } from './filters.ts'
import { emptyLoad, type NodeLoad, type PodDemand, place } from './placed-pod.ts'

export interface Preemption {
  readonly node: string
  /** They must go before the pod can have the node. */
  readonly victims: readonly PodDemand[]
}

type Loads = ReadonlyMap<string, NodeLoad>

/**
 * The node on which the fewest and least important pods would have to go for this one: by the highest priority among those that go, then by
 * their number, then by name. Only pods of lower priority go, and of these as few as will do, the more important ones staying first.
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

/** Whether pods that are already going leave room on the node this pod was promised. */
export function isMakingRoom({ pods }: NodeLoad, demand: PodDemand): boolean {
  return pods.some(
    ({ pod }) => pod.metadata.deletionTimestamp !== undefined && pod.spec.priority < demand.pod.spec.priority,
  )
}

/** Undefined when the node will not do even without them. */
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

/** The more important first, of equals the older. */
function byWorth({ pod: one }: PodDemand, { pod: other }: PodDemand): number {
  const byAge = Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp)
  return other.spec.priority - one.spec.priority || byAge || (one.metadata.name < other.metadata.name ? -1 : 1)
}

function byHarm(one: Preemption, other: Preemption): number {
  const highest = ({ victims }: Preemption) => Math.max(...victims.map(({ pod }) => pod.spec.priority))
  return highest(one) - highest(other) || one.victims.length - other.victims.length || (one.node < other.node ? -1 : 1)
}
