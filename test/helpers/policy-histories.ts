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

/** States of one cluster in their order: some policies, pods and labels stay, some go, some change. */
export const anyClusters: fc.Arbitrary<readonly Cluster[]> = fc
  .array(fc.tuple(anyCluster, fc.infiniteStream(fc.nat(2))), { minLength: 1, maxLength: 5 })
  .map((steps) => {
    let held = nothing
    return steps.map(([next, dice]) => {
      const stays = () => dice.next().value === 0
      held = {
        policies: [...byKey([...next.policies.filter(stays), ...held.policies.filter(() => !stays())]).values()],
        pods: next.pods.flatMap((pod): readonly PolicyPod[] => {
          const before = held.pods.find(({ key }) => key === pod.key)
          const chance = dice.next().value
          return chance === 0 ? [pod] : chance === 1 && before !== undefined ? [before] : []
        }),
        namespaces: stays() ? next.namespaces : held.namespaces,
      }
      return held
    })
  })

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
