import type { ObjectKey } from '../../model/api-object.ts'
import type { NetworkPolicy, PolicyCluster } from '../../model/network-policy.ts'
import { matchesLabels } from '../../model/selector.ts'
import type { AddressSpan } from './address-spans.ts'
import { PolicyEvaluator } from './evaluate.ts'
import { type GroupedPods, nameGroup } from './matrix.ts'
import { compareKeys, groupPods, type PodGroup } from './pod-groups.ts'
import { type Reach, reachKey } from './reach.ts'
import { type Relation, relate } from './relations.ts'
import type { Direction } from './verdict.ts'

/** The change that policies which are not applied yet would bring; also the answer of `platnet policy test -o json`. */
export interface PolicyEffect {
  readonly policies: readonly ChangedPolicy[]
  readonly groups: readonly GroupedPods[]
  /** One for each group for which something would change. */
  readonly rows: readonly EffectRow[]
}

interface ChangedPolicy {
  readonly policy: ObjectKey
  readonly change: 'create' | 'replace'
  /** The number of pods that it would select. */
  readonly pods: number
  readonly isolates: readonly Direction[]
}

export interface EffectRow {
  readonly group: number
  readonly from: readonly EffectPart[]
  readonly to: readonly EffectPart[]
}

interface EffectPart {
  readonly before: readonly Reach[]
  readonly after: readonly Reach[]
  readonly groups: readonly number[]
  readonly addresses: readonly AddressSpan[]
}

/** Compares the cluster with itself after the given policies are created, or replace those of their keys. */
export function policyEffect(cluster: PolicyCluster, applied: readonly NetworkPolicy[]): PolicyEffect {
  const existing = Array.from(cluster.policies())
  const after = withPolicies(cluster, existing, applied)
  const versions = [...existing.filter(({ key }) => applied.some((policy) => policy.key === key)), ...applied]
  const groups = groupPods([...existing, ...applied], cluster.pods())
  const evaluators = [cluster, after].map(
    (each) => new PolicyEvaluator(each, { judges: 'everywhere', podAt: () => undefined }),
  )
  const partsOf = (subject: PodGroup, direction: Direction): readonly EffectPart[] =>
    isConcerned(subject, direction, versions)
      ? relate(evaluators, subject, direction, groups).flatMap((relation) => changedPart(relation))
      : []
  const rows = groups
    .map((subject, group) => ({ group, from: partsOf(subject, 'ingress'), to: partsOf(subject, 'egress') }))
    .filter(({ from, to }) => from.length + to.length > 0)
  return {
    policies: applied.map((policy) => describePolicy(policy, existing, groups)).toSorted(byPolicy),
    groups: groups.map(nameGroup),
    rows,
  }
}

function withPolicies(
  cluster: PolicyCluster,
  existing: readonly NetworkPolicy[],
  applied: readonly NetworkPolicy[],
): PolicyCluster {
  const policies = new Map([...existing, ...applied].map((policy) => [policy.key, policy]))
  return {
    policies: () => policies.values(),
    pods: () => cluster.pods(),
    namespaceLabels: (namespace) => cluster.namespaceLabels(namespace),
  }
}

/** Whether a version of the policies decides about the group in that direction; if none does, nothing changes there. */
function isConcerned({ pods }: PodGroup, direction: Direction, versions: readonly NetworkPolicy[]): boolean {
  const [pod] = pods
  return versions.some(
    (policy) =>
      policy[direction] !== undefined &&
      policy.namespace === pod?.namespace &&
      matchesLabels(policy.podSelector, pod.labels),
  )
}

function changedPart({ reach: [before = [], after = []], ...peers }: Relation): readonly EffectPart[] {
  return reachKey(before) === reachKey(after) ? [] : [{ before, after, ...peers }]
}

function describePolicy(
  policy: NetworkPolicy,
  existing: readonly NetworkPolicy[],
  groups: readonly PodGroup[],
): ChangedPolicy {
  const selected = groups
    .filter(({ namespace }) => namespace === policy.namespace)
    .flatMap(({ pods }) => pods)
    .filter(({ labels }) => matchesLabels(policy.podSelector, labels))
  return {
    policy: policy.key,
    change: existing.some(({ key }) => key === policy.key) ? 'replace' : 'create',
    pods: selected.length,
    isolates: (['ingress', 'egress'] as const).filter((direction) => policy[direction] !== undefined),
  }
}

function byPolicy(one: ChangedPolicy, other: ChangedPolicy): number {
  return compareKeys(one.policy, other.policy)
}
