import { type ObjectKey, objectKey } from '../../model/api-object.ts'
import type { Endpoint } from '../../model/endpoint-slice.ts'
import type { Ip } from '../../model/ip.ts'
import { type AppliedRevisions, scopeOfPod } from '../state/applied.ts'
import type { NodeState } from '../state/node-state.ts'

/** Whether pods still get new connections through this node. */
export interface Traffic {
  /** True once every plane has applied a state in which no Service sends anything new to the pod. */
  isOut(pod: TrafficTarget): boolean
}

/** A pod as endpoints name it. */
export interface TrafficTarget {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** Its addresses are the node's, which others have as well. */
  readonly hostNetwork: boolean
  readonly ips: readonly Ip[]
}

/** What was found of a pod last, and in which revision of the node's state. */
interface Found {
  readonly revision: number
  /** One that sends to it; undefined where none does. */
  readonly service: ObjectKey | undefined
  /** The revision since which none does. */
  readonly outSince: number | undefined
}

/**
 * Asks the node's state and its planes. Asked every few milliseconds while a pod leaves, so it looks only where something may have changed:
 * not at all in the same revision, and first at the Service that had the pod before.
 */
export class StateTraffic implements Traffic {
  readonly #state: NodeState
  readonly #applied: Pick<AppliedRevisions, 'isApplied'>
  /** By uid: a name may be another pod's later. */
  readonly #found = new Map<string, Found>()

  constructor(state: NodeState, applied: Pick<AppliedRevisions, 'isApplied'>) {
    this.#state = state
    this.#applied = applied
  }

  isOut(pod: TrafficTarget): boolean {
    if (!this.#state.synced) {
      this.#found.delete(pod.uid)
      return false
    }
    const { outSince } = this.#look(pod)
    if (outSince === undefined) return false
    const isApplied = this.#applied.isApplied(outSince, scopeOfPod(objectKey(pod.namespace, pod.name), pod.ips))
    if (isApplied) this.#found.delete(pod.uid)
    return isApplied
  }

  #look(pod: TrafficTarget): Found {
    const { revision } = this.#state
    const before = this.#found.get(pod.uid)
    if (before?.revision === revision) return before
    const service = this.#findService(pod, before?.service)
    const outSince = service === undefined ? (before?.outSince ?? revision) : undefined
    const found = { revision, service, outSince }
    this.#found.set(pod.uid, found)
    return found
  }

  #findService(pod: TrafficTarget, before: ObjectKey | undefined): ObjectKey | undefined {
    const key = objectKey(pod.namespace, pod.name)
    const ips = new Set(pod.hostNetwork ? [] : pod.ips)
    const isOurs = ({ address, target }: Endpoint) => target === `Pod ${key}` || ips.has(address)
    const sendsTo = (service: ObjectKey) =>
      this.#state
        .slicesOf(service)
        .some(({ endpoints }) => endpoints.some((endpoint) => endpoint.ready && isOurs(endpoint)))
    if (before !== undefined && sendsTo(before)) return before
    for (const service of this.#state.serviceKeys()) if (sendsTo(service)) return service
    return undefined
  }
}
