import type { ObjectKey } from '../../model/api-object.ts'
import type { NetworkPolicy, PolicyPod } from '../../model/network-policy.ts'
import { matchesLabels } from '../../model/selector.ts'
import type { PolicyDirection } from '../../netfilter/policy/names.ts'
import { NamespaceIndex } from './plan-index.ts'

interface LocalPod {
  readonly namespace: string
  readonly pod: PolicyPod
  /** Keys of the policies that select the pod. */
  readonly policies: Set<ObjectKey>
}

/** Which policies select which pods of this node. Other pods are not looked at. */
export class Selections {
  readonly #policies: NamespaceIndex<NetworkPolicy>
  readonly #pods = new NamespaceIndex<LocalPod>()
  /** The selected local pods by policy; a policy that selects none is left out. */
  readonly #podsOf = new Map<ObjectKey, Set<ObjectKey>>()

  constructor(policies: NamespaceIndex<NetworkPolicy>) {
    this.#policies = policies
  }

  isActive(policy: ObjectKey): boolean {
    return this.#podsOf.has(policy)
  }

  pod(key: ObjectKey): PolicyPod | undefined {
    return this.#pods.get(key)?.pod
  }

  podsOf(policy: ObjectKey): Iterable<ObjectKey> {
    return this.#podsOf.get(policy) ?? []
  }

  /** The policies that isolate a local pod in this direction, sorted. */
  isolating(pod: ObjectKey, direction: PolicyDirection): readonly ObjectKey[] {
    return [...(this.#pods.get(pod)?.policies ?? [])]
      .filter((policy) => this.#policies.get(policy)?.[direction] !== undefined)
      .sort()
  }

  /** Takes another version of a local pod, or undefined if there is none any more. Returns the policies that select it now or did before. */
  replacePod(key: ObjectKey, next: PolicyPod | undefined): ReadonlySet<ObjectKey> {
    const policies = new Set(next === undefined ? [] : this.#selecting(next))
    const before = this.#pods.replace(key, next && { namespace: next.namespace, pod: next, policies })
    for (const policy of before?.policies ?? []) if (!policies.has(policy)) this.#unlink(policy, key)
    for (const policy of policies) this.#link(policy, key)
    return policies.union(before?.policies ?? new Set())
  }

  /** Takes another version of a policy and returns the local pods whose group it may change. */
  replacePolicy(key: ObjectKey, before: NetworkPolicy | undefined, next: NetworkPolicy | undefined): Set<ObjectKey> {
    const changed = new Set<ObjectKey>()
    const isOtherwise = !isolatesAlike(before, next)
    const namespace = next?.namespace ?? before?.namespace ?? ''
    for (const { pod, policies } of this.#pods.inNamespace(namespace)) {
      const was = policies.has(key)
      const is = next !== undefined && selects(next, pod)
      if (is) policies.add(key)
      else policies.delete(key)
      if (is !== was || (is && isOtherwise)) changed.add(pod.key)
      if (is && !was) this.#link(key, pod.key)
      if (was && !is) this.#unlink(key, pod.key)
    }
    return changed
  }

  *#selecting(pod: PolicyPod): Iterable<ObjectKey> {
    for (const policy of this.#policies.inNamespace(pod.namespace)) if (selects(policy, pod)) yield policy.key
  }

  #link(policy: ObjectKey, pod: ObjectKey): void {
    const pods = this.#podsOf.get(policy)
    if (pods === undefined) this.#podsOf.set(policy, new Set([pod]))
    else pods.add(pod)
  }

  #unlink(policy: ObjectKey, pod: ObjectKey): void {
    const pods = this.#podsOf.get(policy)
    pods?.delete(pod)
    if (pods?.size === 0) this.#podsOf.delete(policy)
  }
}

function selects({ podSelector }: NetworkPolicy, pod: PolicyPod): boolean {
  return pod.isUnknown !== true && matchesLabels(podSelector, pod.labels)
}

function isolatesAlike(a: NetworkPolicy | undefined, b: NetworkPolicy | undefined): boolean {
  return (
    (a?.ingress === undefined) === (b?.ingress === undefined) && (a?.egress === undefined) === (b?.egress === undefined)
  )
}
