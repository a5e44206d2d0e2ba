import type { Ip } from '../../model/ip.ts'
import type { NetworkPolicy, PodPeer, PolicyCluster, PolicyPod, PolicyPort } from '../../model/network-policy.ts'
import { matchesLabels } from '../../model/selector.ts'
import {
  type AddressValue,
  addressValue,
  blockHolds,
  type CompiledPolicy,
  type CompiledRule,
  compilePolicy,
} from './compiled-policy.ts'
import type { AllowedByRule, Direction, DirectionVerdict, Flow, FlowEnd, PolicyMismatch, Verdict } from './verdict.ts'

export interface EvaluatorOptions {
  /** `this-node`: egress of local pods and ingress to local pods only, as this node's rules judge. */
  readonly judges: 'this-node' | 'everywhere'
  /** Whether an address is one of the node of this pod, which and its pods always reach each other. */
  readonly isNodeAddress?: (address: Ip, pod: PolicyPod) => boolean
  /** Finds the pod that has an address. By default an index of all pods, built on first use. */
  readonly podAt?: (address: Ip) => PolicyPod | undefined
}

interface Isolation {
  readonly ingress: CompiledPolicy[]
  readonly egress: CompiledPolicy[]
}

/** An end of a flow, with the pod of its address. */
interface Party {
  readonly pod: PolicyPod | undefined
  readonly address: Ip | undefined
  value: AddressValue | undefined
}

/** The flow as one direction sees it. */
interface Question {
  readonly direction: Direction
  /** The pod that is judged. */
  readonly subject: PolicyPod | undefined
  readonly peer: Party
  readonly flow: Flow
  /** The pod whose port names count. */
  readonly target: PolicyPod | undefined
}

type RuleMatch = number | 'all-peers' | 'no-peer' | 'no-port'

const unjudged = {
  noPod: { isAllowed: true, reason: 'no-pod' },
  otherNode: { isAllowed: true, reason: 'other-node' },
  itself: { isAllowed: true, reason: 'itself' },
  ownNode: { isAllowed: true, reason: 'own-node' },
  notIsolated: { isAllowed: true, reason: 'not-isolated' },
} as const satisfies Readonly<Record<string, DirectionVerdict>>
const unknownPod: DirectionVerdict = { isAllowed: false, reason: 'unknown-pod' }

/**
 * Judges flows by the NetworkPolicies of a cluster. It remembers what it has read: after a change of the cluster, make a new one.
 * Policies are compiled and pods are matched on first use, so that an evaluator costs nothing for what no flow touches.
 */
export class PolicyEvaluator {
  readonly #cluster: PolicyCluster
  readonly #options: EvaluatorOptions
  readonly #isolation = new Map<PolicyPod, Isolation>()
  readonly #namespaceMatches = new Map<PodPeer, Map<string, boolean>>()
  readonly #compiled = new Map<NetworkPolicy, Isolation>()
  #policies: ReadonlyMap<string, readonly NetworkPolicy[]> | undefined
  #podsByIp: ReadonlyMap<Ip, PolicyPod> | undefined

  constructor(cluster: PolicyCluster, options: EvaluatorOptions) {
    this.#cluster = cluster
    this.#options = options
  }

  judge(flow: Flow): Verdict {
    const { asSource, asDestination } = this.#questionsOf(flow)
    const egress = this.#judgeDirection(asSource)
    const ingress = this.#judgeDirection(asDestination)
    return { isAllowed: egress.isAllowed && ingress.isAllowed, egress, ingress }
  }

  /** Tells whether both directions allow a flow; for many flows, because it does not gather why one is denied. */
  allows(flow: Flow): boolean {
    const { asSource, asDestination } = this.#questionsOf(flow)
    return this.#allowsDirection(asSource) && this.#allowsDirection(asDestination)
  }

  /** Returns the policies that isolate a pod in a direction, sorted by key; none if it is not isolated there. */
  isolatingPolicies(pod: PolicyPod, direction: Direction): readonly NetworkPolicy[] {
    return this.#isolationOf(pod)[direction].map(({ policy }) => policy)
  }

  /** Returns the pod of an end: the given one, or the one that has the address. */
  podOf({ pod, address }: FlowEnd): PolicyPod | undefined {
    return pod ?? (address === undefined ? undefined : this.#podAt(address))
  }

  #party(end: FlowEnd): Party {
    return { pod: this.podOf(end), address: end.address, value: undefined }
  }

  #podAt(address: Ip): PolicyPod | undefined {
    if (this.#options.podAt !== undefined) return this.#options.podAt(address)
    this.#podsByIp ??= indexByIp(this.#cluster.pods())
    return this.#podsByIp.get(address)
  }

  #questionsOf(flow: Flow) {
    const source = this.#party(flow.source)
    const destination = this.#party(flow.destination)
    const target = destination.pod
    return {
      asSource: { direction: 'egress', subject: source.pod, peer: destination, flow, target },
      asDestination: { direction: 'ingress', subject: target, peer: source, flow, target },
    } as const
  }

  #judgeDirection(question: Question): DirectionVerdict {
    const isolating = this.#isolatingOf(question)
    if (!Array.isArray(isolating)) return isolating
    return this.#findAllowing(isolating, question) ?? this.#explainDenial(isolating, question)
  }

  #allowsDirection(question: Question): boolean {
    const isolating = this.#isolatingOf(question)
    return Array.isArray(isolating) ? this.#findAllowing(isolating, question) !== undefined : isolating.isAllowed
  }

  /** The policies that decide, or the verdict where none does. */
  #isolatingOf({ direction, subject: pod, peer }: Question): CompiledPolicy[] | DirectionVerdict {
    if (pod === undefined) return unjudged.noPod
    if (this.#options.judges === 'this-node' && !pod.isLocal) return unjudged.otherNode
    if (peer.pod?.key === pod.key) return unjudged.itself
    if (this.#isNodeOf(pod, peer)) return unjudged.ownNode
    if (pod.isUnknown === true) return unknownPod
    const policies = this.#isolationOf(pod)[direction]
    return policies.length === 0 ? unjudged.notIsolated : policies
  }

  #isNodeOf(subject: PolicyPod, { pod, address }: Party): boolean {
    return pod === undefined && address !== undefined && this.#options.isNodeAddress?.(address, subject) === true
  }

  #findAllowing(policies: readonly CompiledPolicy[], question: Question): AllowedByRule | undefined {
    for (const policy of policies) {
      for (let place = 0; place < policy.rules.length; place += 1) {
        const match = this.#matchRule(policy.rules[place], policy.namespace, question)
        if (match === 'no-peer' || match === 'no-port') continue
        const peer = match === 'all-peers' ? undefined : match
        return { isAllowed: true, reason: 'rule', policy: policy.key, rule: place, peer }
      }
    }
    return undefined
  }

  #explainDenial(policies: readonly CompiledPolicy[], question: Question): DirectionVerdict {
    const describe = ({ key, namespace, rules }: CompiledPolicy): PolicyMismatch => ({
      policy: key,
      rules: rules.map((rule) => (this.#matchRule(rule, namespace, question) === 'no-port' ? 'port' : 'peer')),
    })
    return { isAllowed: false, reason: 'no-rule', policies: policies.map(describe) }
  }

  /** The place of the peer that matches with a port, or what does not match. */
  #matchRule(rule: CompiledRule | undefined, namespace: string, question: Question): RuleMatch {
    if (rule === undefined) return 'no-peer'
    const { peers, ports } = rule
    if (peers === undefined) return matchesPorts(ports, question, true) ? 'all-peers' : 'no-port'
    let mismatch: RuleMatch = 'no-peer'
    for (let place = 0; place < peers.length; place += 1) {
      const peer = peers[place]
      const isPods = peer?.kind === 'pods'
      if (peer === undefined) continue
      const isMatch = isPods ? this.#matchesPod(peer, namespace, question.peer.pod) : holds(peer, question.peer)
      if (!isMatch) continue
      if (matchesPorts(ports, question, isPods || question.direction === 'ingress')) return place
      mismatch = 'no-port'
    }
    return mismatch
  }

  #matchesPod(peer: PodPeer, policyNamespace: string, pod: PolicyPod | undefined): boolean {
    if (pod === undefined || pod.isUnknown === true) return false
    const isNamespace =
      peer.namespaces === undefined ? pod.namespace === policyNamespace : this.#matchesNamespace(peer, pod.namespace)
    return isNamespace && matchesLabels(peer.pods, pod.labels)
  }

  #matchesNamespace(peer: PodPeer, namespace: string): boolean {
    const known = this.#namespaceMatches.get(peer) ?? new Map<string, boolean>()
    this.#namespaceMatches.set(peer, known)
    const before = known.get(namespace)
    if (before !== undefined) return before
    const labels = this.#cluster.namespaceLabels(namespace)
    const isMatch = labels !== undefined && matchesLabels(peer.namespaces ?? [], labels)
    known.set(namespace, isMatch)
    return isMatch
  }

  #isolationOf(pod: PolicyPod): Isolation {
    const known = this.#isolation.get(pod)
    if (known !== undefined) return known
    this.#policies ??= groupByNamespace(this.#cluster.policies())
    const selecting = (this.#policies.get(pod.namespace) ?? [])
      .filter(({ podSelector }) => matchesLabels(podSelector, pod.labels))
      .map((policy) => this.#compile(policy))
    const isolation = {
      ingress: selecting.flatMap(({ ingress }) => ingress),
      egress: selecting.flatMap(({ egress }) => egress),
    }
    this.#isolation.set(pod, isolation)
    return isolation
  }

  #compile(policy: NetworkPolicy): Isolation {
    const known = this.#compiled.get(policy)
    if (known !== undefined) return known
    const ofDirection = (direction: Direction) => {
      const compiled = compilePolicy(policy, direction)
      return compiled === undefined ? [] : [compiled]
    }
    const both = { ingress: ofDirection('ingress'), egress: ofDirection('egress') }
    this.#compiled.set(policy, both)
    return both
  }
}

function holds(block: Parameters<typeof blockHolds>[0], party: Party): boolean {
  if (party.address === undefined) return false
  party.value ??= addressValue(party.address)
  return blockHolds(block, party.value)
}

/** @param hasNames whether a named port may match: not where an egress rule matched by an ipBlock */
function matchesPorts(ports: readonly PolicyPort[] | undefined, { flow, target }: Question, hasNames: boolean) {
  return ports === undefined || ports.some((port) => matchesPort(port, flow, hasNames ? target : undefined))
}

function matchesPort(wanted: PolicyPort, { protocol, port }: Flow, target: PolicyPod | undefined): boolean {
  if (wanted.protocol !== protocol) return false
  switch (wanted.kind) {
    case 'protocol':
      return true
    case 'range':
      return wanted.first <= port && port <= wanted.last
    case 'name':
      return (
        target?.ports.some((each) => each.name === wanted.name && each.protocol === protocol && each.port === port) ===
        true
      )
  }
}

/** Sorted by key, so that the rule that a verdict names does not depend on the order in which the policies came. */
function groupByNamespace(policies: Iterable<NetworkPolicy>): ReadonlyMap<string, readonly NetworkPolicy[]> {
  const groups = Map.groupBy(policies, ({ namespace }) => namespace)
  for (const group of groups.values()) group.sort((a, b) => (a.key < b.key ? -1 : 1))
  return groups
}

/** Indexes pods by address. Where two pods have one (a reused address, for a moment) the unknown or else the local pod wins. */
function indexByIp(pods: Iterable<PolicyPod>): ReadonlyMap<Ip, PolicyPod> {
  const index = new Map<Ip, PolicyPod>()
  for (const pod of pods) {
    for (const ip of pod.ips) {
      const other = index.get(ip)
      if (other === undefined || precedes(pod, other)) index.set(ip, pod)
    }
  }
  return index
}

function precedes(pod: PolicyPod, other: PolicyPod): boolean {
  const difference = precedence(pod) - precedence(other)
  return difference === 0 ? pod.key < other.key : difference > 0
}

function precedence({ isUnknown, isLocal }: PolicyPod): number {
  return isUnknown === true ? 2 : isLocal ? 1 : 0
}
