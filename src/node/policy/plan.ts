import { inOnePiece, type Stages } from '../../loop/time-slice.ts'
import type { ObjectKey } from '../../model/api-object.ts'
import type { Ip, IpFamily } from '../../model/ip.ts'
import type { Labels, NetworkPolicy, PolicyChanges, PolicyCluster, PolicyPod } from '../../model/network-policy.ts'
import type { XorHash } from '../../model/xor-hash.ts'
import type { MemberSet, SetChange } from '../../netfilter/member-sets.ts'
import { type LoweredPolicy, lowerPolicy } from '../../netfilter/policy/lower-policy.ts'
import { barredSeconds, fixedSets, type PolicyDirection, policyDirections } from '../../netfilter/policy/names.ts'
import type { PolicyRuleSettings } from '../../netfilter/policy/settings.ts'
import { policyStaticChains } from '../../netfilter/policy/static-chains.ts'
import type { Chain, TableChange } from '../../netfilter/ruleset.ts'
import { PlannedChains } from './plan-chains.ts'
import { PolicyGroups } from './plan-groups.ts'
import { NamespaceIndex } from './plan-index.ts'
import { PlannedMembers } from './plan-members.ts'
import { addressesOf, PolicySets } from './plan-policy-sets.ts'
import { Selections } from './plan-selections.ts'

/** The difference from the step before. It must reach the kernel in this order: new sets and elements, chains, elements and sets that go. */
export interface PolicyStep {
  /** Chains of mangle; absent if none differs. */
  readonly table?: TableChange
  readonly sets: SetChange
}

type LoweredPolicies = Readonly<Record<PolicyDirection, LoweredPolicy | undefined>>

interface ActivePolicy {
  readonly policy: NetworkPolicy
  readonly lowered: LoweredPolicies
}

/** How many objects are taken between two pauses. */
const objectsPerStep = 100

/**
 * Plans the rules and sets of NetworkPolicy on this node in one family, from changes of pods, policies and namespaces. A policy is
 * lowered only while it selects a pod of this node with an address of the family. A step costs what changed: a pod asks the sets and,
 * if it is local, the policies of its namespace; a policy asks the local pods of its namespace. What it returns follows from the
 * objects alone, never from the order in which they came.
 */
export class PolicyPlan implements PolicyCluster {
  readonly #family: IpFamily
  #settings: PolicyRuleSettings
  #writtenSettings: PolicyRuleSettings | undefined
  readonly #pods = new NamespaceIndex<PolicyPod>()
  readonly #podsByAddress = new Map<Ip, PolicyPod>()
  readonly #policies = new NamespaceIndex<NetworkPolicy>()
  readonly #namespaces = new Map<string, Labels>()
  readonly #chains: PlannedChains
  readonly #members = new PlannedMembers()
  readonly #sets: PolicySets
  readonly #selections = new Selections(this.#policies)
  readonly #groups: Readonly<Record<PolicyDirection, PolicyGroups>>
  readonly #active = new Map<ObjectKey, ActivePolicy>()

  constructor(settings: PolicyRuleSettings) {
    const { family } = settings
    this.#family = family
    this.#settings = settings
    this.#chains = new PlannedChains(family)
    this.#sets = new PolicySets(family, { pods: this.#pods, namespaces: this.#namespaces }, this.#members)
    this.#groups = {
      ingress: new PolicyGroups('ingress', family, this.#chains, this.#members),
      egress: new PolicyGroups('egress', family, this.#chains, this.#members),
    }
  }

  /** A hash of all chains as of the last step. A step that changes only elements of sets leaves it as it is. */
  get hash(): XorHash {
    return this.#chains.hash
  }

  /** The active policies that have this chain, or whose rules name this set. */
  policiesOf(chainOrSet: string): readonly ObjectKey[] {
    const isNamed = ({ name, sets }: LoweredPolicy) =>
      name === chainOrSet || sets.some((set) => set.name === chainOrSet)
    return [...this.#active].flatMap(([key, { lowered }]) =>
      [lowered.ingress, lowered.egress].some((each) => each !== undefined && isNamed(each)) ? [key] : [],
    )
  }

  /** All policies as of the last step. */
  policies(): Iterable<NetworkPolicy> {
    return this.#policies.values()
  }

  /** The pods with an address of the family as of the last step. */
  pods(): Iterable<PolicyPod> {
    return this.#pods.values()
  }

  namespaceLabels(namespace: string): Labels | undefined {
    return this.#namespaces.get(namespace)
  }

  /** The pod that has an address of the family as of the last step. */
  podAt(address: Ip): PolicyPod | undefined {
    return this.#podsByAddress.get(address)
  }

  /** All chains as of the last step, by name. */
  chains(): Iterable<readonly [name: string, chain: Chain]> {
    return this.#chains.chains()
  }

  /** All sets with their elements as of the last step, by name. */
  sets(): Iterable<readonly [name: string, set: MemberSet, elements: Iterable<string>]> {
    return this.#members.sets()
  }

  /** The next step hands over the static chains and sets that differ. The family must stay. */
  configure(settings: PolicyRuleSettings): void {
    this.#settings = settings
  }

  /** Takes changes and returns what differs; all chains and sets the first time. */
  update(changes: PolicyChanges): PolicyStep {
    return inOnePiece(this.updateInSteps(changes))
  }

  /** Does what `update` does in many short steps, so that the caller can pause between them. The caller must finish one before the next. */
  *updateInSteps(changes: PolicyChanges): Stages<PolicyStep> {
    this.#updateStatic()
    for (const [name, labels] of changes.namespaces) yield* this.#updateNamespace(name, labels)
    const regrouped = new Set<ObjectKey>()
    const policies = new Set(changes.policies.keys())
    yield* this.#takePolicies(changes.policies, regrouped)
    let count = 0
    for (const [key, pod] of changes.pods) {
      for (const policy of this.#updatePod(key, pod)) policies.add(policy)
      regrouped.add(key)
      if (pod?.isLocal === true || ++count % objectsPerStep === 0) yield
    }
    for (const key of policies) {
      for (const pod of yield* this.#updatePolicy(key)) regrouped.add(pod)
      yield
    }
    for (const key of regrouped) {
      this.#regroup(key)
      yield
    }
    return yield* this.#finish()
  }

  /** Adds the pods whose group may change to `regrouped`. */
  *#takePolicies(policies: PolicyChanges['policies'], regrouped: Set<ObjectKey>): Stages<void> {
    let count = 0
    for (const [key, policy] of policies) {
      const before = this.#policies.replace(key, policy)
      for (const pod of this.#selections.replacePolicy(key, before, policy)) regrouped.add(pod)
      if (++count % objectsPerStep === 0) yield
    }
  }

  *#finish(): Stages<PolicyStep> {
    for (const direction of policyDirections) this.#groups[direction].finish()
    this.#sets.finish()
    const table = yield* this.#chains.finish()
    const sets = yield* this.#members.finish()
    return table === undefined ? { sets } : { table, sets }
  }

  *#updateNamespace(name: string, labels: Labels | undefined): Stages<void> {
    const before = this.#namespaces.get(name)
    if (labels === undefined) this.#namespaces.delete(name)
    else this.#namespaces.set(name, labels)
    yield* this.#sets.replaceNamespace(name, before, labels)
  }

  /** Returns the policies that select the pod now or did before, if it is local. */
  #updatePod(key: ObjectKey, pod: PolicyPod | undefined): Iterable<ObjectKey> {
    const next = pod && addressesOf(pod, this.#family).length > 0 ? pod : undefined
    const before = this.#pods.replace(key, next)
    this.#replaceAddress(before, next)
    this.#sets.replacePod(before, next)
    if (before?.isLocal !== true && next?.isLocal !== true) return []
    if (before?.isLocal === true) this.#changeFixedSets('remove', before)
    if (next?.isLocal === true) this.#changeFixedSets('add', next)
    return this.#selections.replacePod(key, next?.isLocal === true ? next : undefined)
  }

  /** An address may be another pod's already, in whichever order the two pods come. */
  #replaceAddress(before: PolicyPod | undefined, next: PolicyPod | undefined): void {
    const [old = [], now = []] = [before, next].map((pod) => pod && addressesOf(pod, this.#family))
    for (const address of old)
      if (this.#podsByAddress.get(address)?.key === before?.key) this.#podsByAddress.delete(address)
    if (next !== undefined) for (const address of now) this.#podsByAddress.set(address, next)
  }

  #changeFixedSets(verb: 'add' | 'remove', pod: PolicyPod): void {
    const { known, unknown, isolated, denied } = fixedSets(this.#family)
    const isolating = policyDirections.flatMap((direction) => [isolated[direction], denied[direction]])
    const sets = pod.isUnknown === true ? [known, unknown, ...isolating] : [known]
    for (const address of addressesOf(pod, this.#family)) for (const set of sets) this.#members[verb](set, address)
  }

  /**
   * Lowers a policy that is new among the active ones or has changed, and removes one that selects no local pod any more. Returns the
   * pods whose group has another chain now.
   */
  *#updatePolicy(key: ObjectKey): Stages<Iterable<ObjectKey>> {
    const before = this.#active.get(key)
    const policy = this.#selections.isActive(key) ? this.#policies.get(key) : undefined
    if (before?.policy === policy) return []
    const lowered = this.#lower(policy)
    for (const direction of policyDirections)
      yield* this.#replaceLowered(before?.lowered[direction], lowered[direction])
    if (policy === undefined) this.#active.delete(key)
    else this.#active.set(key, { policy, lowered })
    const isRenamed = policyDirections.some((each) => before?.lowered[each]?.name !== lowered[each]?.name)
    return isRenamed ? this.#selections.podsOf(key) : []
  }

  *#replaceLowered(before: LoweredPolicy | undefined, next: LoweredPolicy | undefined): Stages<void> {
    for (const set of next?.sets ?? []) yield* this.#sets.acquire(set)
    for (const set of before?.sets ?? []) this.#sets.release(set.name)
    if (before !== undefined) this.#chains.delete(before.name)
    if (next !== undefined) this.#chains.put(next.name, next.chain)
  }

  #lower(policy: NetworkPolicy | undefined): LoweredPolicies {
    const lower = (direction: PolicyDirection) => policy?.[direction] && lowerPolicy(policy, direction, this.#family)
    return { ingress: lower('ingress'), egress: lower('egress') }
  }

  #regroup(key: ObjectKey): void {
    const pod = this.#selections.pod(key)
    const addresses = pod === undefined ? [] : addressesOf(pod, this.#family)
    for (const direction of policyDirections)
      this.#groups[direction].place(key, addresses, this.#chainsOf(key, direction))
  }

  /** The chains of the policies that isolate a local pod in this direction, in the order of the policies. */
  #chainsOf(pod: ObjectKey, direction: PolicyDirection): readonly string[] {
    const policies = this.#selections.isolating(pod, direction)
    return policies.flatMap((policy) => this.#active.get(policy)?.lowered[direction]?.name ?? [])
  }

  #updateStatic(): void {
    const before = this.#writtenSettings
    if (before === this.#settings) return
    const [chains, sets] = [policyStaticChains(this.#settings), staticSets(this.#settings)]
    for (const [name, chain] of chains) this.#chains.put(name, chain)
    for (const [name, set] of sets) if (!this.#members.has(name)) this.#members.open(name, set)
    const { log } = fixedSets(this.#family)
    if (!sets.has(log) && this.#members.has(log)) this.#members.close(log)
    this.#writtenSettings = this.#settings
  }
}

/** A minute is enough to write each denied flow to the log once; a flood of flows must not fill the memory of the kernel. */
const log = { timeoutSeconds: 60, maxElements: 4096 }

const cut = { timeoutSeconds: barredSeconds, maxElements: 65_536 }

function staticSets({ family, logsDenied }: PolicyRuleSettings): ReadonlyMap<string, MemberSet> {
  const { isolated, denied, unknown, known, cut: cutSet, log: logSet } = fixedSets(family)
  const addresses: MemberSet = { type: 'hash:ip', family, maxElements: 65_536 }
  return new Map([
    ...[isolated.ingress, isolated.egress, unknown, known].map((name) => [name, addresses] as const),
    ...[denied.ingress, denied.egress].map((name) => [name, { ...addresses, counters: true } as const] as const),
    [cutSet, { type: 'hash:ip,port,ip', family, ...cut } as const] as const,
    ...(logsDenied ? [[logSet, { type: 'hash:ip,port,ip', family, ...log } as const] as const] : []),
  ])
}
