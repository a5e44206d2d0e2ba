import type { Stages } from '../../loop/time-slice.ts'
import { type Ip, type IpFamily, ipFamily } from '../../model/ip.ts'
import type { Labels, PolicyPod } from '../../model/network-policy.ts'
import { matchesLabels } from '../../model/selector.ts'
import type { MemberSet } from '../../netfilter/member-sets.ts'
import { portElement } from '../../netfilter/policy/elements.ts'
import type { PolicySet } from '../../netfilter/policy/lower-policy.ts'
import type { PodSelection } from '../../netfilter/policy/peers.ts'
import type { NamespaceIndex } from './plan-index.ts'
import type { PlannedMembers } from './plan-members.ts'

/** Pods and the labels of namespaces, as the sets see them. */
export interface PolicyObjects {
  /** Holds only pods with an address of the family. */
  readonly pods: NamespaceIndex<PolicyPod>
  readonly namespaces: ReadonlyMap<string, Labels>
}

interface ActiveSet {
  readonly set: PolicySet
  /** How many policies name it, each direction of a policy counted by itself. */
  users: number
}

/** How many pods are looked at between two pauses. */
const podsPerStep = 500

const maxElements = 1_048_576

/**
 * The sets that the rules of active policies name, and the pods in them. A pod is asked for by the sets of its own namespace and by
 * those without a fixed namespace only.
 */
export class PolicySets {
  readonly #family: IpFamily
  readonly #objects: PolicyObjects
  readonly #members: PlannedMembers
  readonly #active = new Map<string, ActiveSet>()
  /** Sets whose pods are all of named namespaces, by namespace. */
  readonly #byNamespace = new Map<string, Set<PolicySet>>()
  readonly #anywhere = new Set<PolicySet>()
  readonly #unused = new Set<string>()

  constructor(family: IpFamily, objects: PolicyObjects, members: PlannedMembers) {
    this.#family = family
    this.#objects = objects
    this.#members = members
  }

  get size(): number {
    return this.#active.size
  }

  /** Counts a user of the set. A new set is filled from all pods, in short steps. */
  *acquire(set: PolicySet): Stages<void> {
    const active = this.#active.get(set.name)
    if (active !== undefined) {
      active.users++
      return
    }
    this.#active.set(set.name, { set, users: 1 })
    this.#members.open(set.name, this.#describe(set))
    for (const element of set.fixed) this.#members.add(set.name, element)
    for (const index of this.#indexesOf(set)) index.add(set)
    yield* this.#fill(set)
  }

  /** The set stays until `finish`: another policy may want it in the same step. */
  release(name: string): void {
    const active = this.#active.get(name)
    if (active !== undefined && --active.users === 0) this.#unused.add(name)
  }

  /** Closes the sets that no policy names any more. */
  finish(): void {
    for (const name of this.#unused) {
      const active = this.#active.get(name)
      if (active === undefined || active.users > 0) continue
      for (const index of this.#indexesOf(active.set)) index.delete(active.set)
      this.#active.delete(name)
      this.#members.close(name)
    }
    this.#unused.clear()
    for (const [namespace, sets] of this.#byNamespace) if (sets.size === 0) this.#byNamespace.delete(namespace)
  }

  /** Takes another version of a pod. */
  replacePod(before: PolicyPod | undefined, next: PolicyPod | undefined): void {
    if (before !== undefined) this.#changeAll('remove', before)
    if (next !== undefined) this.#changeAll('add', next)
  }

  /** Takes other labels of a namespace: looks at its pods only for sets that select namespaces and now decide otherwise. */
  *replaceNamespace(name: string, before: Labels | undefined, next: Labels | undefined): Stages<void> {
    for (const set of this.#anywhere) {
      if (!decidesOtherwise(set, before, next)) continue
      let count = 0
      for (const pod of this.#objects.pods.inNamespace(name)) {
        this.#change('remove', set, pod, before)
        this.#change('add', set, pod, next)
        if (++count % podsPerStep === 0) yield
      }
    }
  }

  *#fill(set: PolicySet): Stages<void> {
    let count = 0
    for (const namespace of this.#namespacesOf(set)) {
      const labels = this.#objects.namespaces.get(namespace)
      for (const pod of this.#objects.pods.inNamespace(namespace)) {
        this.#change('add', set, pod, labels)
        if (++count % podsPerStep === 0) yield
      }
    }
  }

  /** Namespaces that may have pods of the set. */
  #namespacesOf(set: PolicySet): Iterable<string> {
    return fixedNamespaces(set) ?? this.#objects.pods.namespaces()
  }

  #changeAll(verb: 'add' | 'remove', pod: PolicyPod): void {
    const labels = this.#objects.namespaces.get(pod.namespace)
    for (const set of this.#anywhere) this.#change(verb, set, pod, labels)
    for (const set of this.#byNamespace.get(pod.namespace) ?? []) this.#change(verb, set, pod, labels)
  }

  #indexesOf(set: PolicySet): readonly Set<PolicySet>[] {
    const namespaces = fixedNamespaces(set)
    if (namespaces === undefined) return [this.#anywhere]
    return [...namespaces].map((namespace) => {
      const sets = this.#byNamespace.get(namespace) ?? new Set()
      this.#byNamespace.set(namespace, sets)
      return sets
    })
  }

  #change(verb: 'add' | 'remove', set: PolicySet, pod: PolicyPod, labels: Labels | undefined): void {
    if (!holdsPod(set, pod, labels)) return
    for (const address of addressesOf(pod, this.#family))
      for (const element of elementsOf(set, pod, address)) this.#members[verb](set.name, element)
  }

  #describe({ port }: PolicySet): MemberSet {
    return { type: port === undefined ? 'hash:net' : 'hash:ip,port', family: this.#family, maxElements }
  }
}

/** The pod's addresses in this family: hardly ever more than one. */
export function addressesOf({ ips }: PolicyPod, family: IpFamily): readonly Ip[] {
  return ips.filter((ip) => ipFamily(ip) === family)
}

/** The address, or with each of its ports of the set's name. */
function elementsOf({ port: wanted }: PolicySet, { ports }: PolicyPod, address: Ip): readonly string[] {
  if (wanted === undefined) return [address]
  return ports
    .filter(({ name, protocol }) => name === wanted.name && protocol === wanted.protocol)
    .map(({ protocol, port }) => portElement(address, protocol, port))
}

function holdsPod({ pods }: PolicySet, pod: PolicyPod, labels: Labels | undefined): boolean {
  if (pod.isUnknown === true) return false
  if (typeof pods === 'string') return pods === 'all' || pod.isLocal
  return pods.some(
    (selection) => isInNamespace(selection, pod.namespace, labels) && matchesLabels(selection.pods, pod.labels),
  )
}

function isInNamespace(selection: PodSelection, namespace: string, labels: Labels | undefined): boolean {
  if ('namespace' in selection) return selection.namespace === namespace
  return labels !== undefined && matchesLabels(selection.namespaces, labels)
}

/** Undefined where pods of any namespace may be in the set. */
function fixedNamespaces({ pods }: PolicySet): ReadonlySet<string> | undefined {
  if (typeof pods === 'string') return undefined
  const names = new Set<string>()
  for (const selection of pods) {
    if (!('namespace' in selection)) return undefined
    names.add(selection.namespace)
  }
  return names
}

function decidesOtherwise({ pods }: PolicySet, before: Labels | undefined, next: Labels | undefined): boolean {
  if (typeof pods === 'string') return false
  return pods.some(
    (selection) =>
      !('namespace' in selection) && isInNamespace(selection, '', before) !== isInNamespace(selection, '', next),
  )
}
