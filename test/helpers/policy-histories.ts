import fc from 'fast-check'
import type { Labels, NetworkPolicy, PolicyChanges, PolicyPod } from '../../src/model/network-policy.ts'
import { anyCluster } from './arbitrary-policies.ts'
import type { ClusterObjects } from './policy-cluster.ts'

export type Cluster = Required<ClusterObjects>

function difference<Item>(
  before: ReadonlyMap<string, Item>,
  after: ReadonlyMap<string, Item>,
): ReadonlyMap<string, Item | undefined> {
  const gone = [...before.keys()].filter((key) => !after.has(key)).map((key) => [key, undefined] as const)
  return new Map([...gone, ...[...after].filter(([key, item]) => before.get(key) !== item)])
}

const byKey = <Item extends { readonly key: string }>(items: readonly Item[]) =>
  new Map(items.map((item) => [item.key, item]))

/** The changes that lead from one cluster to the other. */
export function changesBetween(before: Cluster, after: Cluster): PolicyChanges {
  return {
    policies: difference<NetworkPolicy>(byKey(before.policies), byKey(after.policies)),
    pods: difference<PolicyPod>(byKey(before.pods), byKey(after.pods)),
    namespaces: difference<Labels>(
      new Map(Object.entries(before.namespaces)),
      new Map(Object.entries(after.namespaces)),
    ),
  }
}

export const nothing: Cluster = { policies: [], pods: [], namespaces: {} }

type Dice = () => number

/** A few of the pods are announced only: their objects are not known. */
function withUnknown(pods: readonly PolicyPod[], roll: Dice): readonly PolicyPod[] {
  return pods.map((pod) => (pod.isLocal && roll() % 8 === 0 ? { ...pod, labels: {}, ports: [], isUnknown: true } : pod))
}

/** Policies have few names, so that one of the next state often is another version of one that is there. */
function withFewNames(policies: readonly NetworkPolicy[], roll: Dice): readonly NetworkPolicy[] {
  return policies.map((policy) => {
    const name = `p${roll() % 3}`
    return { ...policy, name, key: `${policy.namespace}/${name}` }
  })
}

/** Each pod has the address of the next one. */
function rotateAddresses(pods: readonly PolicyPod[]): readonly PolicyPod[] {
  return pods.map((pod, index) => ({ ...pod, ips: pods[(index + 1) % pods.length]?.ips ?? [] }))
}

/** Keeps some of what is held, takes some of what is new, and drops the rest. */
function mixed(held: Cluster, next: Cluster, roll: Dice): Cluster {
  const isTaken = () => roll() % 3 === 0
  const policies = [...held.policies.filter(() => !isTaken()), ...withFewNames(next.policies, roll)]
  const pods = withUnknown(next.pods, roll).flatMap((pod): readonly PolicyPod[] => {
    const before = held.pods.find(({ key }) => key === pod.key)
    const choice = roll() % 3
    return choice === 0 ? [pod] : choice === 1 && before !== undefined ? [before] : []
  })
  return {
    policies: [...byKey(policies).values()],
    pods,
    namespaces: isTaken() ? next.namespaces : held.namespaces,
  }
}

/** One state with unknown pods. */
export const anyState: fc.Arbitrary<Cluster> = fc
  .tuple(anyCluster, fc.infiniteStream(fc.nat()))
  .map(([cluster, dice]) => ({ ...cluster, pods: withUnknown(cluster.pods, () => dice.next().value) }))

/** States of one cluster in their order: some policies, pods and labels stay, some go, some change. No pod takes over an address. */
export const anyHistory: fc.Arbitrary<readonly Cluster[]> = fc
  .array(fc.tuple(anyCluster, fc.infiniteStream(fc.nat())), { minLength: 1, maxLength: 5 })
  .map((steps) => {
    let held = nothing
    return steps.map(([next, dice]) => {
      held = mixed(held, next, () => dice.next().value)
      return held
    })
  })

/** Histories in which addresses also go from pod to pod. */
export const anyHistoryOfAddresses: fc.Arbitrary<readonly Cluster[]> = fc
  .tuple(anyHistory, fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }))
  .map(([history, rotates]) =>
    history.map((state, index) => (rotates[index] ? { ...state, pods: rotateAddresses(state.pods) } : state)),
  )

/** The clusters on the way from one to the other, each with one object changed. */
export function oneByOne(before: Cluster, after: Cluster): readonly Cluster[] {
  const { pods, policies, namespaces } = changesBetween(before, after)
  let held = before
  const replace = <Item extends { readonly key: string }>(
    items: readonly Item[],
    key: string,
    next: Item | undefined,
  ) => [...items.filter((item) => item.key !== key), ...(next === undefined ? [] : [next])]
  return [
    ...[...policies].map(([key, policy]) => {
      held = { ...held, policies: replace(held.policies, key, policy) }
      return held
    }),
    ...[...pods].map(([key, pod]) => {
      held = { ...held, pods: replace(held.pods, key, pod) }
      return held
    }),
    ...[...namespaces].map(([name, labels]) => {
      const others = Object.entries(held.namespaces).filter(([other]) => other !== name)
      held = { ...held, namespaces: Object.fromEntries(labels === undefined ? others : [...others, [name, labels]]) }
      return held
    }),
  ]
}

/** Returns the objects in the opposite order. */
export function reversed({ policies, pods, namespaces }: Cluster): Cluster {
  return {
    policies: policies.toReversed(),
    pods: pods.toReversed(),
    namespaces: Object.fromEntries(Object.entries(namespaces).reverse()),
  }
}
