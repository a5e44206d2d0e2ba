import assert from 'node:assert/strict'
import type { Ip } from '../../src/model/ip.ts'
import type { Labels, NetworkPolicy, PolicyPod } from '../../src/model/network-policy.ts'
import { PolicyEvaluator } from '../../src/node/policy/evaluate.ts'
import type { Direction, Flow, FlowEnd } from '../../src/node/policy/verdict.ts'
import { clusterOf } from './policy-cluster.ts'

/** The objects of one state; addresses of pods are those of every state. */
export interface MixedState {
  readonly policies: readonly NetworkPolicy[]
  readonly pods: readonly PolicyPod[]
  readonly namespaces: Readonly<Record<string, Labels>>
}

/** What the mixtures of some states say of a flow in one direction. */
export interface Possible {
  readonly isAllowed: boolean
  readonly isDenied: boolean
}

/** How one version of a policy meets a flow. */
type Effect = 'not-isolated' | 'rule' | 'no-rule'

interface Objects {
  readonly subject: PolicyPod
  readonly peer: PolicyPod
  /** Of the peer's namespace; undefined where it is not known. */
  readonly labels: Labels | undefined
}

/**
 * Judges flows between pods by mixtures of states: any version of each object, each from one of the states, whatever the others. Watches of
 * different kinds have no common order, so this is what a node may see of states that follow each other.
 */
export class MixedVerdicts {
  readonly #states: readonly MixedState[]
  readonly #evaluators = new Map<string, PolicyEvaluator>()
  /** The versions of each object, found once: equal ones are one. */
  readonly #versions = new Map<string, readonly unknown[]>()
  readonly #numbers = new Map<unknown, number>()

  constructor(states: readonly MixedState[]) {
    this.#states = states
  }

  possible(direction: Direction, flow: Flow): Possible {
    const [own, other] = direction === 'egress' ? [flow.source, flow.destination] : [flow.destination, flow.source]
    let [isAllowed, isDenied] = [false, false]
    for (const objects of this.#mixtures(own, other)) {
      const effects = this.#policiesOf(objects.subject.namespace).map(
        (versions) => new Set(versions.map((policy) => this.#effect(direction, flow, objects, policy))),
      )
      isAllowed ||= effects.some((each) => each.has('rule')) || effects.every((each) => each.has('not-isolated'))
      isDenied ||=
        effects.some((each) => each.has('no-rule')) &&
        effects.every((each) => each.has('no-rule') || each.has('not-isolated'))
    }
    return { isAllowed, isDenied }
  }

  *#mixtures(own: FlowEnd, other: FlowEnd): Iterable<Objects> {
    const subjects = this.#podsAt(own.address)
    for (const peer of this.#podsAt(other.address))
      for (const labels of this.#labelsOf(peer.namespace))
        for (const subject of subjects) yield { subject, peer, labels }
  }

  #podsAt(address: Ip | undefined): readonly PolicyPod[] {
    const ofState = ({ pods }: MixedState) => pods.find(({ ips }) => address !== undefined && ips.includes(address))
    return this.#versionsOf(`pod ${address}`, (state) => ofState(state) ?? assert.fail(`${address} is no pod`))
  }

  #labelsOf(namespace: string): readonly (Labels | undefined)[] {
    return this.#versionsOf(`labels ${namespace}`, ({ namespaces }) => namespaces[namespace])
  }

  /** The versions of each policy of a namespace; undefined where a state has none. */
  #policiesOf(namespace: string): readonly (readonly (NetworkPolicy | undefined)[])[] {
    const keysOf = ({ policies }: MixedState) =>
      policies.filter((policy) => policy.namespace === namespace).map(({ key }) => key)
    const keys = new Set(this.#versionsOf(`keys ${namespace}`, keysOf).flat())
    return [...keys].map((key) =>
      this.#versionsOf(`policy ${key}`, ({ policies }) => policies.find((policy) => policy.key === key)),
    )
  }

  #versionsOf<Value>(name: string, read: (state: MixedState) => Value): readonly Value[] {
    const known = this.#versions.get(name) as readonly Value[] | undefined
    if (known !== undefined) return known
    const values = this.#states.map(read)
    const found = [...new Map(values.map((value) => [JSON.stringify(value), value])).values()]
    this.#versions.set(name, found)
    return found
  }

  #effect(direction: Direction, flow: Flow, objects: Objects, policy: NetworkPolicy | undefined): Effect {
    if (policy === undefined) return 'not-isolated'
    const { reason } = this.#evaluatorOf(objects, policy).judge(flow)[direction]
    assert.ok(reason === 'not-isolated' || reason === 'rule' || reason === 'no-rule', reason)
    return reason
  }

  #evaluatorOf({ subject, peer, labels }: Objects, policy: NetworkPolicy): PolicyEvaluator {
    const key = [subject, peer, labels, policy].map((each) => this.#numberOf(each)).join()
    const known = this.#evaluators.get(key)
    if (known !== undefined) return known
    const namespaces = labels === undefined ? {} : { [peer.namespace]: labels }
    const cluster = clusterOf({ pods: [subject, peer], namespaces, policies: [policy] })
    const evaluator = new PolicyEvaluator(cluster, { judges: 'everywhere' })
    this.#evaluators.set(key, evaluator)
    return evaluator
  }

  #numberOf(value: unknown): number {
    const number = this.#numbers.get(value) ?? this.#numbers.size
    this.#numbers.set(value, number)
    return number
  }
}
