import type { ObjectKey } from '../../model/api-object.ts'
import type { Ip, IpFamily } from '../../model/ip.ts'
import type { MemberSet } from '../../netfilter/member-sets.ts'
import { bucketRules, directionRules, groupRules } from '../../netfilter/policy/dispatch.ts'
import {
  bucketChain,
  bucketOf,
  bucketSet,
  directionChain,
  fixedSets,
  groupChain,
  groupId,
  groupSet,
  type PolicyDirection,
} from '../../netfilter/policy/names.ts'
import type { PlannedChains } from './plan-chains.ts'
import type { PlannedMembers } from './plan-members.ts'

interface Place {
  readonly addresses: readonly Ip[]
  readonly group: string
}

const maxElements = 65_536

/** The groups of one direction: which policies isolate which local pods, and the chains that lead a pod to its policies. */
export class PolicyGroups {
  readonly #direction: PolicyDirection
  readonly #family: IpFamily
  readonly #chains: PlannedChains
  readonly #members: PlannedMembers
  readonly #places = new Map<ObjectKey, Place>()
  /** Number of pods by group. */
  readonly #groups = new Map<string, number>()
  readonly #buckets = new Map<string, Set<string>>()
  readonly #empty = new Set<string>()
  readonly #changedBuckets = new Set<string>()
  #isWritten = false

  constructor(direction: PolicyDirection, family: IpFamily, chains: PlannedChains, members: PlannedMembers) {
    this.#direction = direction
    this.#family = family
    this.#chains = chains
    this.#members = members
  }

  get size(): number {
    return this.#groups.size
  }

  /** Places a pod that the policies of these chains isolate, in sorted order; none, or no address: the pod is not isolated here. */
  place(pod: ObjectKey, addresses: readonly Ip[], policyChains: readonly string[]): void {
    const before = this.#places.get(pod)
    const isPlaced = policyChains.length > 0 && addresses.length > 0
    const place = isPlaced ? { addresses, group: groupId(policyChains) } : undefined
    if (before?.group === place?.group && before?.addresses.join() === place?.addresses.join()) return
    if (place !== undefined) {
      this.#enter(place, policyChains)
      this.#places.set(pod, place)
    } else this.#places.delete(pod)
    if (before !== undefined) this.#leave(before)
  }

  /** Removes the groups without a pod and puts the dispatch together again where groups came or went. */
  finish(): void {
    for (const group of this.#empty) if (this.#groups.get(group) === 0) this.#removeGroup(group)
    this.#empty.clear()
    if (this.#isWritten && this.#changedBuckets.size === 0) return
    for (const bucket of this.#changedBuckets) this.#writeBucket(bucket)
    this.#changedBuckets.clear()
    this.#isWritten = true
    this.#chains.put(
      directionChain(this.#direction),
      directionRules(this.#direction, this.#family, [...this.#buckets.keys()]),
    )
  }

  #enter({ addresses, group }: Place, policyChains: readonly string[]): void {
    const count = this.#groups.get(group)
    if (count === undefined) this.#addGroup(group, policyChains)
    this.#groups.set(group, (count ?? 0) + 1)
    for (const set of this.#setsOf(group)) for (const address of addresses) this.#members.add(set, address)
  }

  #leave({ addresses, group }: Place): void {
    const count = this.#groups.get(group) ?? 0
    this.#groups.set(group, count - 1)
    if (count === 1) this.#empty.add(group)
    for (const set of this.#setsOf(group)) for (const address of addresses) this.#members.remove(set, address)
  }

  #setsOf(group: string): readonly string[] {
    const { isolated, denied } = fixedSets(this.#family)
    return [
      groupSet(this.#direction, this.#family, group),
      bucketSet(this.#direction, this.#family, bucketOf(group)),
      isolated[this.#direction],
      denied[this.#direction],
    ]
  }

  #addGroup(group: string, policyChains: readonly string[]): void {
    this.#members.open(groupSet(this.#direction, this.#family, group), this.#addresses)
    this.#chains.put(groupChain(this.#direction, group), groupRules(this.#direction, policyChains))
    const bucket = bucketOf(group)
    const groups = this.#buckets.get(bucket)
    this.#changedBuckets.add(bucket)
    if (groups !== undefined) {
      groups.add(group)
      return
    }
    this.#buckets.set(bucket, new Set([group]))
    this.#members.open(bucketSet(this.#direction, this.#family, bucket), this.#addresses)
  }

  #removeGroup(group: string): void {
    this.#groups.delete(group)
    this.#members.close(groupSet(this.#direction, this.#family, group))
    this.#chains.delete(groupChain(this.#direction, group))
    const bucket = bucketOf(group)
    const groups = this.#buckets.get(bucket)
    groups?.delete(group)
    this.#changedBuckets.add(bucket)
    if (groups?.size !== 0) return
    this.#buckets.delete(bucket)
    this.#members.close(bucketSet(this.#direction, this.#family, bucket))
  }

  #writeBucket(bucket: string): void {
    const groups = this.#buckets.get(bucket)
    const chain = bucketChain(this.#direction, bucket)
    if (groups === undefined) this.#chains.delete(chain)
    else this.#chains.put(chain, bucketRules(this.#direction, this.#family, [...groups]))
  }

  get #addresses(): MemberSet {
    return { type: 'hash:ip', family: this.#family, maxElements }
  }
}
