import type { ObjectKey } from '../../model/api-object.ts'
import type { PolicyCluster } from '../../model/network-policy.ts'
import type { AddressSpan } from './address-spans.ts'
import { PolicyEvaluator } from './evaluate.ts'
import { groupPods, type PodGroup } from './pod-groups.ts'
import type { Reach } from './reach.ts'
import { relate } from './relations.ts'
import type { Direction } from './verdict.ts'

/** Reachability of all pods of a namespace by peer and port; also the answer of `platnet policy matrix -o json`. */
export interface PolicyMatrix {
  readonly namespace: string
  /** Every pod of the cluster in one group; places are the `id` of groups. */
  readonly groups: readonly GroupedPods[]
  /** One for each group of the namespace. A pod always reaches itself, and its node and it always reach each other. */
  readonly rows: readonly MatrixRow[]
}

/** Pods of one namespace that no rule tells apart. */
export interface GroupedPods {
  readonly id: number
  readonly namespace: string
  readonly pods: readonly ObjectKey[]
}

export interface MatrixRow {
  readonly group: number
  /** The policies that isolate the group; an empty list: it is not isolated in that direction. */
  readonly isolatedBy: Readonly<Record<Direction, readonly ObjectKey[]>>
  /** Ports of the group that others reach; every group and address is in one part. */
  readonly from: readonly MatrixPart[]
  /** Ports of others that the group reaches. */
  readonly to: readonly MatrixPart[]
}

export interface MatrixPart {
  readonly reach: readonly Reach[]
  readonly groups: readonly number[]
  readonly addresses: readonly AddressSpan[]
}

/** Computes the matrix by asking the evaluator, both directions judged everywhere. */
export function policyMatrix(cluster: PolicyCluster, namespace: string): PolicyMatrix {
  const groups = groupPods(Array.from(cluster.policies()), cluster.pods())
  const evaluator = new PolicyEvaluator(cluster, { judges: 'everywhere', podAt: () => undefined })
  const partsOf = (subject: PodGroup, direction: Direction): readonly MatrixPart[] =>
    relate([evaluator], subject, direction, groups).map(({ reach, ...peers }) => ({ reach: reach[0] ?? [], ...peers }))
  const rows = groups.flatMap((subject, group) => {
    const [pod] = subject.pods
    if (subject.namespace !== namespace || pod === undefined) return []
    const keysOf = (direction: Direction) => evaluator.isolatingPolicies(pod, direction).map(({ key }) => key)
    const isolatedBy = { ingress: keysOf('ingress'), egress: keysOf('egress') }
    return [{ group, isolatedBy, from: partsOf(subject, 'ingress'), to: partsOf(subject, 'egress') }]
  })
  return { namespace, groups: groups.map(nameGroup), rows }
}

export function nameGroup({ namespace, pods }: PodGroup, id: number): GroupedPods {
  return { id, namespace, pods: pods.map(({ key }) => key) }
}
