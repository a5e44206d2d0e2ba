import type { ObjectKey } from '../../model/api-object.ts'
import type { NetworkPolicy, PolicyChanges } from '../../model/network-policy.ts'
import { NamespaceIndex } from './plan-index.ts'
import { Selections } from './plan-selections.ts'
import { RemotePodScope, type RemotePods } from './plan-watches.ts'
import type { Direction } from './verdict.ts'

/**
 * The policies that select pods of this node, with or without an address, kept in step with every change: status, metrics and the choice
 * of watches ask it. A policy costs the local pods of its namespace, a local pod the policies of its namespace, another pod nothing.
 */
export class ActivePolicies {
  readonly #policies = new NamespaceIndex<NetworkPolicy>()
  readonly #selections = new Selections(this.#policies)
  readonly #scope = new RemotePodScope()

  take({ policies, pods, namespaces }: PolicyChanges): void {
    for (const [name, labels] of namespaces) this.#scope.replaceNamespace(name, labels)
    for (const [key, policy] of policies) {
      this.#selections.replacePolicy(key, this.#policies.replace(key, policy), policy)
      this.#rescope(key)
    }
    for (const [key, pod] of pods) {
      const next = pod?.isLocal === true ? pod : undefined
      if (next === undefined && this.#selections.pod(key) === undefined) continue
      for (const policy of this.#selections.replacePod(key, next)) this.#rescope(policy)
    }
  }

  /** The policies that isolate a pod of this node in a direction, sorted. */
  isolating(pod: ObjectKey, direction: Direction): readonly ObjectKey[] {
    return this.#selections.isolating(pod, direction)
  }

  /** The namespaces whose pods on other nodes this node must know. */
  get remotePods(): RemotePods {
    return this.#scope.wanted
  }

  #rescope(key: ObjectKey): void {
    this.#scope.replacePolicy(key, this.#selections.isActive(key) ? this.#policies.get(key) : undefined)
  }
}
