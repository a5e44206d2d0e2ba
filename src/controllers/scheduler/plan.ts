import { type Filter, filtersFor, isAnyRepelling, statesNeighbours } from './filters.ts'
import { antiAffinityOf, type NodeLoad, type PodDemand, place } from './placed-pod.ts'
import { scoreFor } from './score.ts'

export type Placement =
  | { readonly kind: 'placed'; readonly node: string }
  /** `message` says how many nodes will not do for which reason. */
  | { readonly kind: 'unschedulable'; readonly message: string }

/** What a node is to pods that ask for the same, with so many pods on it. */
interface Verdict {
  readonly pods: number
  readonly refusal: readonly string[]
  /** Undefined for a node that will not do. */
  readonly score: number | undefined
}

/** What pods that ask for the same are answered. */
interface Shape {
  readonly verdictOf: (load: NodeLoad) => Verdict
  readonly verdicts: Map<NodeLoad, Verdict>
  /** When none of the nodes would do, and why. */
  refused?: { readonly placed: number; readonly message: string }
}

/**
 * Where the pods of one pass go: each to a node that satisfies all it asks for, the one with the highest score, of equals the first by name. Of pods that ask
 * for the same, as those of one workload do, only the first is held against every node, and the next against the nodes that got a pod since.
 */
export class Placements {
  readonly loads: ReadonlyMap<string, NodeLoad>
  readonly #unschedulableTaint: string
  /** Terms of pods without affinity. */
  readonly #shapes = new Map<string, Shape>()
  #isAnyRepelling: boolean
  #placed = 0

  constructor(loads: ReadonlyMap<string, NodeLoad>, unschedulableTaint: string) {
    this.loads = loads
    this.#unschedulableTaint = unschedulableTaint
    this.#isAnyRepelling = isAnyRepelling(loads)
  }

  place(node: string, demand: PodDemand): void {
    const load = this.loads.get(node)
    if (load === undefined) return
    place(load, demand)
    this.#placed += 1
    if (antiAffinityOf(demand).length === 0) return
    this.#isAnyRepelling = true
    this.#shapes.clear()
  }

  plan(demand: PodDemand): Placement {
    if (this.loads.size === 0) return { kind: 'unschedulable', message: 'no nodes available to schedule pods' }
    const shape = statesNeighbours(demand) ? this.#shapeOf(demand) : this.#sharedShape(demand)
    if (shape.refused?.placed === this.#placed) return { kind: 'unschedulable', message: shape.refused.message }
    const best = this.#findBest(shape)
    if (best !== undefined) return { kind: 'placed', node: best }
    const message = describeReasons(this.loads.size, shape.verdicts.values())
    shape.refused = { placed: this.#placed, message }
    return { kind: 'unschedulable', message }
  }

  #findBest({ verdicts, verdictOf }: Shape): string | undefined {
    let best: { readonly name: string; readonly score: number } | undefined
    for (const [name, load] of this.loads) {
      let verdict = verdicts.get(load)
      if (verdict?.pods !== load.pods.length) {
        verdict = verdictOf(load)
        verdicts.set(load, verdict)
      }
      const { score } = verdict
      if (score === undefined || (best !== undefined && best.score > score)) continue
      if (best === undefined || score > best.score || name < best.name) best = { name, score }
    }
    return best?.name
  }

  #sharedShape(demand: PodDemand): Shape {
    const key = `${shapeKey(demand)}${this.#isAnyRepelling ? identityKey(demand) : ''}`
    const known = this.#shapes.get(key)
    if (known !== undefined) return known
    const shape = this.#shapeOf(demand)
    this.#shapes.set(key, shape)
    return shape
  }

  #shapeOf(demand: PodDemand): Shape {
    const filters = filtersFor(demand, this.loads, this.#unschedulableTaint)
    const score = scoreFor(demand, this.loads)
    const verdictOf = (load: NodeLoad): Verdict => {
      const refusal = firstRefusal(filters, load)
      return { pods: load.pods.length, refusal, score: refusal.length === 0 ? score(load) : undefined }
    }
    return { verdictOf, verdicts: new Map() }
  }
}

const shapeKeys = new WeakMap<PodDemand, string>()

/** Equal for pods that ask the same of a node, whatever else they are. */
function shapeKey(demand: PodDemand): string {
  const known = shapeKeys.get(demand)
  if (known !== undefined) return known
  const { nodeSelector, affinity, tolerations } = demand.requirements
  const requests = Array.from(demand.requests, ([resource, amount]) => [resource, String(amount)])
  const key = JSON.stringify([nodeSelector, affinity.nodeAffinity, tolerations, requests, demand.hostPorts])
  shapeKeys.set(demand, key)
  return key
}

/** What terms of others may mean the pod by. */
function identityKey({ pod, namespaceLabels }: PodDemand): string {
  const { namespace, labels } = pod.metadata
  return JSON.stringify([namespace, labels, namespaceLabels])
}

/** Each node counts under the first thing it lacks, because an operator repairs one after the other. */
function firstRefusal(filters: readonly Filter[], load: NodeLoad): readonly string[] {
  for (const filter of filters) {
    const why = filter(load)
    if (why.length > 0) return why
  }
  return []
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
function describeReasons(nodes: number, verdicts: Iterable<Verdict>): string {
  const reasons = new Map<string, number>()
  for (const { refusal } of verdicts) for (const reason of refusal) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  const parts = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort()
  return `0/${nodes} nodes are available: ${parts.join(', ')}.`
}

/** Pods of higher priority first, then the older ones. */
export function schedulingOrder(one: PodDemand, other: PodDemand): number {
  const byPriority = other.pod.spec.priority - one.pod.spec.priority
  const byAge = Date.parse(one.pod.metadata.creationTimestamp) - Date.parse(other.pod.metadata.creationTimestamp)
  return byPriority || byAge || (one.pod.metadata.name < other.pod.metadata.name ? -1 : 1)
}
