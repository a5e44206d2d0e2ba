import { type ObjectKey, objectKey } from '../../model/api-object.ts'
import type { Endpoint } from '../../model/endpoint-slice.ts'
import { type Ip, ipFamily } from '../../model/ip.ts'
import type { AppliedRevisions } from '../state/applied.ts'
import type { NodeState } from '../state/node-state.ts'

/** Whether pods still get new connections through this node. */
export interface Traffic {
  /** True once every plane has applied a state in which no Service sends anything new to the pod. */
  isOut(pod: TrafficTarget): boolean
}

/** A pod as endpoints name it. */
export interface TrafficTarget {
  readonly namespace: string
  readonly name: string
  /** Its addresses are the node's, which others have as well. */
  readonly hostNetwork: boolean
  readonly ips: readonly Ip[]
}

/** Asks the node's state and its planes; remembers since which revision a pod is in no Service. */
export class StateTraffic implements Traffic {
  readonly #state: NodeState
  readonly #applied: Pick<AppliedRevisions, 'isApplied'>
  readonly #outSince = new Map<string, number>()

  constructor(state: NodeState, applied: Pick<AppliedRevisions, 'isApplied'>) {
    this.#state = state
    this.#applied = applied
  }

  isOut(pod: TrafficTarget): boolean {
    const key = objectKey(pod.namespace, pod.name)
    if (!this.#state.synced || this.#isEndpoint(key, new Set(pod.hostNetwork ? [] : pod.ips))) {
      this.#outSince.delete(key)
      return false
    }
    const since = this.#outSince.get(key) ?? this.#state.revision
    const isApplied = this.#applied.isApplied(since, new Set(pod.ips.map(ipFamily)))
    if (isApplied) this.#outSince.delete(key)
    else this.#outSince.set(key, since)
    return isApplied
  }

  #isEndpoint(key: ObjectKey, ips: ReadonlySet<Ip>): boolean {
    for (const service of this.#state.serviceKeys()) {
      for (const { endpoints } of this.#state.slicesOf(service)) {
        const isOurs = ({ address, target }: Endpoint) => target === `Pod ${key}` || ips.has(address)
        if (endpoints.some((endpoint) => endpoint.ready && isOurs(endpoint))) return true
      }
    }
    return false
  }
}
