import type { ObjectKey } from '../../model/api-object.ts'
import type { Ip } from '../../model/ip.ts'

/** A pod of this node as its network announced it, before the API server has heard of its addresses. */
export interface LocalPod {
  readonly key: ObjectKey
  readonly uid: string
  /** Tells one life of a pod from the next; announcements are kept by it. */
  readonly containerId: string
  readonly ips: readonly Ip[]
}

/** The announced pods of this node. */
export class LocalPods {
  readonly #pods = new Map<string, LocalPod>()

  /** False where the same was announced before. */
  put(pod: LocalPod): boolean {
    const before = this.#pods.get(pod.containerId)
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(pod)) return false
    // At the end, so that the order is that of the announcements.
    this.#pods.delete(pod.containerId)
    this.#pods.set(pod.containerId, pod)
    return true
  }

  remove(containerId: string): LocalPod | undefined {
    const pod = this.#pods.get(containerId)
    this.#pods.delete(containerId)
    return pod
  }

  get(containerId: string): LocalPod | undefined {
    return this.#pods.get(containerId)
  }

  /** The announcement of a pod that came last and was not withdrawn. */
  lastOf(key: ObjectKey): LocalPod | undefined {
    return [...this.#pods.values()].findLast((pod) => pod.key === key)
  }

  keys(): ReadonlySet<ObjectKey> {
    return new Set(this.#pods.values().map(({ key }) => key))
  }
}
