import { type NodeSamples, type Rate, rateBetween, type Sample } from './samples.ts'

/** The use of one node and of the pods that it reports. */
export interface NodeRates {
  readonly node: Rate | undefined
  /** The use of each container, by `namespace/name` of the pod; pods with a container without figures are left out. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Rate>>
}

/** The use of each node that answered lately, by its name. */
export type Usage = ReadonlyMap<string, NodeRates>

export function ratesBetween(earlier: NodeSamples | undefined, later: NodeSamples): NodeRates {
  const pods = Array.from(
    later.pods,
    ([pod, containers]) => [pod, ratesOf(earlier?.pods.get(pod), containers)] as const,
  )
  return {
    node: later.node && rateBetween(earlier?.node, later.node),
    pods: new Map(pods.flatMap(([pod, rates]) => (rates === undefined ? [] : [[pod, rates]]))),
  }
}

function ratesOf(
  earlier: ReadonlyMap<string, Sample> | undefined,
  later: ReadonlyMap<string, Sample>,
): ReadonlyMap<string, Rate> | undefined {
  const rates = new Map<string, Rate>()
  for (const [container, sample] of later) {
    const rate = rateBetween(earlier?.get(container), sample)
    if (rate === undefined) return undefined
    rates.set(container, rate)
  }
  return rates
}
