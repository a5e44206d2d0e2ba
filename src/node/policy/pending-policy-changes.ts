import type { ObjectKey } from '../../model/api-object.ts'
import type { Labels, NetworkPolicy, PolicyChanges, PolicyPod } from '../../model/network-policy.ts'

/** Changes that wait to be planned: of each object the newest. */
export class PendingPolicyChanges {
  #policies = new Map<ObjectKey, NetworkPolicy | undefined>()
  #pods = new Map<ObjectKey, PolicyPod | undefined>()
  #namespaces = new Map<string, Labels | undefined>()

  get isEmpty(): boolean {
    return this.#policies.size + this.#pods.size + this.#namespaces.size === 0
  }

  add({ policies = new Map(), pods = new Map(), namespaces = new Map() }: Partial<PolicyChanges>): void {
    for (const [key, policy] of policies) this.#policies.set(key, policy)
    for (const [key, pod] of pods) this.#pods.set(key, pod)
    for (const [name, labels] of namespaces) this.#namespaces.set(name, labels)
  }

  take(): PolicyChanges {
    const taken = { policies: this.#policies, pods: this.#pods, namespaces: this.#namespaces }
    this.#policies = new Map()
    this.#pods = new Map()
    this.#namespaces = new Map()
    return taken
  }
}
