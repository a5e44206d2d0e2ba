import { type Filter, filtersFor, isAnyRepelling, statesNeighbours } from './filters.ts'
import { antiAffinityOf, type NodeLoad, type PodDemand, place } from './placed-pod.ts'
import { scoreFor } from './score.ts'

export type Placement =
  | { readonly kind: 'placed'; readonly node: string }
  /** No node can run the pod; `message` counts the nodes by reason. */
  | { readonly kind: 'unschedulable'; readonly message: string }

/** The result for one node and all pods with equal requirements, while the node has this number of pods. */
interface Verdict {
  readonly pods: number
  readonly refusal: readonly string[]
  /** The score of the node; undefined if the pods cannot run there. */
  readonly score: number | undefined
}

/** The results for all pods with equal requirements. */
interface Shape {
  readonly verdictOf: (load: NodeLoad) => Verdict
  readonly verdicts: Map<NodeLoad, Verdict>
  /** Set when no node could run the pods: the message, and the number of placements it holds for. */
  refused?: { readonly placed: number; readonly message: string }
}

/**
 * Chooses the nodes for the pods of one pass. Each pod goes to the node with the highest score among those that can run
 * it; of equal scores, to the first by name. Of pods with equal requirements, such as those of one workload, only the
 * first is compared with every node. The next ones are compared with the nodes that received a pod since.
 */
export class Placements {
  readonly loads: ReadonlyMap<string, NodeLoad>
  readonly #unschedulableTaint: string
  /** The results by requirements, for pods without constraints on other pods. */
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
    const isSingle = demand.volumes !== undefined || statesNeighbours(demand)
    const shape = isSingle ? this.#shapeOf(demand) : this.#sharedShape(demand)
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

/** Returns a key that is equal for pods with equal requirements of a node. */
function shapeKey(demand: PodDemand): string {
  const known = shapeKeys.get(demand)
  if (known !== undefined) return known
  const { nodeSelector, affinity, tolerations } = demand.requirements
  const requests = Array.from(demand.requests, ([resource, amount]) => [resource, String(amount)])
  const key = JSON.stringify([nodeSelector, affinity.nodeAffinity, tolerations, requests, demand.hostPorts])
  shapeKeys.set(demand, key)
  return key
}

/** Returns a key of what terms of other pods select by: namespace, labels, and labels of the namespace. */
function identityKey({ pod, namespaceLabels }: PodDemand): string {
  const { namespace, labels } = pod.metadata
  return JSON.stringify([namespace, labels, namespaceLabels])
}

/**
 * Returns the reasons of the first filter that refuses the node. Each node counts under one filter only, because an
 * operator fixes one problem after the other.
 */
function firstRefusal(filters: readonly Filter[], load: NodeLoad): readonly string[] {
  for (const filter of filters) {
    const why = filter(load)
    if (why.length > 0) return why
  }
  return []
}

/** Counts the reasons: `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
function describeReasons(nodes: number, verdicts: Iterable<Verdict>): string {
  const reasons = new Map<string, number>()
  for (const { refusal } of verdicts) for (const reason of refusal) reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  const parts = [...reasons].map(([reason, count]) => `${count} ${reason}`).sort()
  return `0/${nodes} nodes are available: ${parts.join(', ')}.`
}

/** Compares two pods for the scheduling queue: higher priority first, then older ones. */
export function schedulingOrder(one: PodDemand, other: PodDemand): number {
  const byPriority = other.pod.spec.priority - one.pod.spec.priority
  const byAge = Date.parse(one.pod.metadata.creationTimestamp) - Date.parse(other.pod.metadata.creationTimestamp)
  return byPriority || byAge || (one.pod.metadata.name < other.pod.metadata.name ? -1 : 1)
}
