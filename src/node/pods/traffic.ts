import { type ObjectKey, objectKey } from '../../model/api-object.ts'
import type { Endpoint } from '../../model/endpoint-slice.ts'
import type { Ip } from '../../model/ip.ts'
import { type AppliedRevisions, scopeOfPod } from '../state/applied.ts'
import type { NodeState } from '../state/node-state.ts'

/** Tells whether pods can get new connections through this node. */
export interface Traffic {
  /** True after every plane has applied a state in which no Service sends new connections to the pod. */
  isOut(pod: TrafficTarget): boolean
}

/** The identity of a pod in endpoints. */
export interface TrafficTarget {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** Its addresses are those of the node, which other pods have too. */
  readonly hostNetwork: boolean
  readonly ips: readonly Ip[]
}

/** The result of the last search for the Services of a pod. */
interface Found {
  /** The revision of the node's state that was searched. */
  readonly revision: number
  /** The addresses that the search was for, joined by commas. */
  readonly ips: string
  /** The Services that send to the pod. */
  readonly services: ReadonlySet<ObjectKey>
  /** The Services that changed since the search; only these are searched again. */
  readonly changed: Set<ObjectKey>
  /** The first revision in which no Service sends to the pod; undefined while one does. */
  readonly outSince: number | undefined
}

/**
 * Reads the node's state and the revisions that its planes have applied. Workers ask every few milliseconds while a pod ends. The first search
 * reads all Services; later ones read those that had the pod and those that changed, because on a drained node many pods end and change
 * Services.
 */
export class StateTraffic implements Traffic {
  readonly #state: NodeState
  readonly #applied: Pick<AppliedRevisions, 'isApplied'>
  /** The results by uid, because a later pod can have the same name. */
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
    const { outSince } = this.#search(pod)
    if (outSince === undefined) return false
    const isApplied = this.#applied.isApplied(outSince, scopeOfPod(objectKey(pod.namespace, pod.name), pod.ips))
    if (isApplied) this.#found.delete(pod.uid)
    return isApplied
  }

  #search(pod: TrafficTarget): Found {
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
