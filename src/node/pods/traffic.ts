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
  /** The pod's, by which it was looked for. */
  readonly ips: string
  /** All that send to it. */
  readonly services: ReadonlySet<ObjectKey>
  /** Services that changed since; others are not looked at again. */
  readonly changed: Set<ObjectKey>
  /** The revision since which none sends to it. */
  readonly outSince: number | undefined
}

/**
 * Asks the node's state and its planes. Asked every few milliseconds while a pod leaves, so it looks at all Services only once, and from then on at those
 * that had the pod and those that changed: a drained node has many pods that leave, and each of them changes Services.
 */
export class StateTraffic implements Traffic {
  readonly #state: NodeState
  readonly #applied: Pick<AppliedRevisions, 'isApplied'>
  /** By uid: a name may be another pod's later. */
  readonly #found = new Map<string, Found>()

  constructor(state: NodeState, applied: Pick<AppliedRevisions, 'isApplied'>) {
    this.#state = state
    this.#applied = applied
    state.subscribe(({ services }) => {
      for (const { changed } of this.#found.values()) for (const service of services) changed.add(service)
    })
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
    const ips = pod.ips.join()
    const last = this.#found.get(pod.uid)
    const before = last?.ips === ips ? last : undefined
    if (before?.revision === revision) return before
    const candidates = before === undefined ? this.#state.serviceKeys() : before.services.union(before.changed)
    const services = new Set(this.#senders(pod, candidates))
    const outSince = services.size === 0 ? (before?.outSince ?? revision) : undefined
    const found = { revision, ips, services, changed: new Set<ObjectKey>(), outSince }
    this.#found.set(pod.uid, found)
    return found
  }

  *#senders(pod: TrafficTarget, candidates: Iterable<ObjectKey>): Iterable<ObjectKey> {
    const key = objectKey(pod.namespace, pod.name)
    const ips = new Set(pod.hostNetwork ? [] : pod.ips)
    const isOurs = ({ address, target }: Endpoint) => target === `Pod ${key}` || ips.has(address)
    for (const service of candidates) {
      const slices = this.#state.service(service) === undefined ? [] : this.#state.slicesOf(service)
      if (slices.some(({ endpoints }) => endpoints.some((endpoint) => endpoint.ready && isOurs(endpoint))))
        yield service
    }
  }
}
