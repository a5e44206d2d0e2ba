import type { ObjectKey } from '../../model/api-object.ts'
import type { Ip } from '../../model/ip.ts'
import type { PolicyPod } from '../../model/network-policy.ts'
import type { Protocol } from '../../model/service.ts'

export type Direction = 'ingress' | 'egress'

/** One end of a flow. `pod` may be left out: the evaluator then looks for the pod that has the address. */
export interface FlowEnd {
  /** Undefined for a pod without an address: no ipBlock matches it. */
  readonly address?: Ip | undefined
  readonly pod?: PolicyPod | undefined
}

/** A flow as NetworkPolicy judges it: after DNAT and before SNAT. */
export interface Flow {
  readonly source: FlowEnd
  readonly destination: FlowEnd
  /** `other` is any protocol without ports, such as ICMP: only rules without ports allow it. */
  readonly protocol: Protocol | 'other'
  /** The destination port; 0 for the protocol `other`. */
  readonly port: number
}

export interface Verdict {
  readonly isAllowed: boolean
  readonly egress: DirectionVerdict
  readonly ingress: DirectionVerdict
}

export type DirectionVerdict = AllowedUnjudged | AllowedByRule | DeniedUnknown | DeniedByPolicies

/** No rule decides in this direction. */
interface AllowedUnjudged {
  readonly isAllowed: true
  /**
   * `no-pod`: the end is no pod; `other-node`: the pod runs on another node, which judges it; `itself`: the pod sends to itself;
   * `own-node`: the other end is the node of the pod; `not-isolated`: no policy selects the pod in this direction.
   */
  readonly reason: 'no-pod' | 'other-node' | 'itself' | 'own-node' | 'not-isolated'
}

/** The first rule that allows, by key of the policy and place of the rule. Places count from 0. */
export interface AllowedByRule {
  readonly isAllowed: true
  readonly reason: 'rule'
  readonly policy: ObjectKey
  readonly rule: number
  /** Undefined where the rule has no peers and allows all. */
  readonly peer: number | undefined
}

/** The object of the pod is not known yet. */
interface DeniedUnknown {
  readonly isAllowed: false
  readonly reason: 'unknown-pod'
}

export interface DeniedByPolicies {
  readonly isAllowed: false
  readonly reason: 'no-rule'
  /** The policies that isolate the pod in this direction, by key. */
  readonly policies: readonly PolicyMismatch[]
}

export interface PolicyMismatch {
  readonly policy: ObjectKey
  /** One for each rule, in order: why it does not match. `port`: one of its peers does, and none of its ports. */
  readonly rules: readonly ('peer' | 'port')[]
}
