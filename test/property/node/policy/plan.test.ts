import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type IpFamily, ipFamily } from '../../../../src/model/ip.ts'
import type { Labels, NetworkPolicy, PolicyChanges, PolicyPod } from '../../../../src/model/network-policy.ts'
import { formatXorHash } from '../../../../src/model/xor-hash.ts'
import type { PolicyRuleSettings } from '../../../../src/netfilter/policy/settings.ts'
import { PolicyEvaluator } from '../../../../src/node/policy/evaluate.ts'
import { PolicyPlan } from '../../../../src/node/policy/plan.ts'
import type { Flow } from '../../../../src/node/policy/verdict.ts'
import { anyCluster, anyFlow } from '../../../helpers/arbitrary-policies.ts'
import { type ClusterObjects, clusterOf } from '../../../helpers/policy-cluster.ts'
import { PolicyKernel, type PolicyPacket } from '../../../helpers/policy-kernel.ts'

const families = ['IPv4', 'IPv6'] as const

function settingsOf(family: IpFamily): PolicyRuleSettings {
  return { family, dnsAddresses: [], podCidrs: [], isolatesUnknown: false, logsDenied: false }
}

type Cluster = Required<ClusterObjects>

function difference<Item>(
  before: ReadonlyMap<string, Item>,
  after: ReadonlyMap<string, Item>,
): ReadonlyMap<string, Item | undefined> {
  const gone = [...before.keys()].filter((key) => !after.has(key)).map((key) => [key, undefined] as const)
  return new Map([...gone, ...[...after].filter(([key, item]) => before.get(key) !== item)])
}

const byKey = <Item extends { readonly key: string }>(items: readonly Item[]) =>
  new Map(items.map((item) => [item.key, item]))

function changesBetween(before: Cluster, after: Cluster): PolicyChanges {
  return {
    policies: difference<NetworkPolicy>(byKey(before.policies), byKey(after.policies)),
    pods: difference<PolicyPod>(byKey(before.pods), byKey(after.pods)),
    namespaces: difference<Labels>(
      new Map(Object.entries(before.namespaces)),
      new Map(Object.entries(after.namespaces)),
    ),
  }
}

const nothing: Cluster = { policies: [], pods: [], namespaces: {} }

/** Some policies, pods and labels stay, some go, some change. */
const anyClusters: fc.Arbitrary<readonly Cluster[]> = fc
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

function packetOf({ source, destination, protocol, port }: Flow): PolicyPacket {
  assert.ok(source.address !== undefined && destination.address !== undefined)
  return { source: source.address, destination: destination.address, protocol, port }
}

function ofFamily(flows: readonly Flow[], family: IpFamily): readonly Flow[] {
  return flows.filter((flow) => ipFamily(packetOf(flow).source) === family)
}

const anyFlows = fc.array(anyFlow, { minLength: 30, maxLength: 30 })

describe('the plan of NetworkPolicy', () => {
  test('its chains and sets judge each flow as the evaluator does', () => {
    fc.assert(
      fc.property(anyCluster, anyFlows, (cluster, flows) => {
        const evaluator = new PolicyEvaluator(clusterOf(cluster), { judges: 'this-node' })
        for (const family of families) {
          const kernel = new PolicyKernel(family)
          kernel.apply(new PolicyPlan(settingsOf(family)).update(changesBetween(nothing, cluster)))
          for (const flow of ofFamily(flows, family)) {
            const verdict = evaluator.judge(flow)
            const { verdict: walked, rules, mark } = kernel.walk(packetOf(flow))
            const about = JSON.stringify([flow, verdict, rules], undefined, 1)
            assert.equal(walked === 'pass', verdict.isAllowed, about)
            if (walked === 'pass') assert.equal(mark, 0, about)
          }
        }
      }),
      { numRuns: 300 },
    )
  })

  test('step by step it makes what it makes at once, in every order', () => {
    fc.assert(
      fc.property(anyClusters, (clusters) => {
        for (const family of families) {
          const stepwise = { plan: new PolicyPlan(settingsOf(family)), kernel: new PolicyKernel(family) }
          let held = nothing
          for (const cluster of clusters) {
            stepwise.kernel.apply(stepwise.plan.update(changesBetween(held, cluster)))
            held = cluster
            const fresh = { plan: new PolicyPlan(settingsOf(family)), kernel: new PolicyKernel(family) }
            fresh.kernel.apply(fresh.plan.update(changesBetween(nothing, reversed(cluster))))
            assert.equal(stepwise.kernel.describe(), fresh.kernel.describe())
            assert.equal(formatXorHash(stepwise.plan.hash), formatXorHash(fresh.plan.hash))
          }
        }
      }),
      { numRuns: 100 },
    )
  })

  test('while the change of one object is written, each direction of a flow is judged as before it or as after it', () => {
    fc.assert(
      fc.property(anyClusters, anyFlows, (clusters, flows) => {
        for (const family of families) {
          const [plan, kernel] = [new PolicyPlan(settingsOf(family)), new PolicyKernel(family)]
          kernel.apply(plan.update(changesBetween(nothing, nothing)))
          let held = nothing
          for (const cluster of clusters.flatMap((next, index) => oneByOne(clusters[index - 1] ?? nothing, next))) {
            const judges = [held, cluster].map((each) => new PolicyEvaluator(clusterOf(each), { judges: 'this-node' }))
            kernel.apply(plan.update(changesBetween(held, cluster)), () => {
              for (const flow of ofFamily(flows, family)) checkBetween(flow, kernel, judges)
            })
            held = cluster
          }
        }
      }),
      { numRuns: 40 },
    )
  })
})

/** The clusters on the way from one to the other, each with one object changed. */
function oneByOne(before: Cluster, after: Cluster): readonly Cluster[] {
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

function checkBetween(flow: Flow, kernel: PolicyKernel, judges: readonly PolicyEvaluator[]): void {
  const verdicts = judges.map((judge) => judge.judge(flow))
  const directions = ['egress', 'ingress'] as const
  const mayPass = directions.every((direction) => verdicts.some((verdict) => verdict[direction].isAllowed))
  const mustPass = verdicts.every(({ isAllowed }) => isAllowed)
  const { verdict, rules } = kernel.walk(packetOf(flow))
  const about = JSON.stringify([flow, verdicts, rules], undefined, 1)
  if (mustPass) assert.equal(verdict, 'pass', about)
  if (!mayPass) assert.equal(verdict, 'drop', about)
}

function reversed({ policies, pods, namespaces }: Cluster): Cluster {
  return {
    policies: policies.toReversed(),
    pods: pods.toReversed(),
    namespaces: Object.fromEntries(Object.entries(namespaces).reverse()),
  }
}
