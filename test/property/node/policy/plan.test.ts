import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type IpFamily, ipFamily } from '../../../../src/model/ip.ts'
import { formatXorHash } from '../../../../src/model/xor-hash.ts'
import type { PolicyRuleSettings } from '../../../../src/netfilter/policy/settings.ts'
import { PolicyEvaluator } from '../../../../src/node/policy/evaluate.ts'
import { PolicyPlan } from '../../../../src/node/policy/plan.ts'
import type { Flow } from '../../../../src/node/policy/verdict.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { anyFlow } from '../../../helpers/arbitrary-policies.ts'
import { clusterOf } from '../../../helpers/policy-cluster.ts'
import {
  anyHistory,
  anyHistoryOfAddresses,
  anyState,
  changesBetween,
  nothing,
  oneByOne,
  reversed,
} from '../../../helpers/policy-histories.ts'
import { PolicyKernel, packetOf } from '../../../helpers/policy-kernel.ts'

const families = ['IPv4', 'IPv6'] as const

function settingsOf(family: IpFamily): PolicyRuleSettings {
  return { family, dnsAddresses: [], podCidrs: [], isolatesUnknown: false, logsDenied: false }
}

function ofFamily(flows: readonly Flow[], family: IpFamily): readonly Flow[] {
  return flows.filter((flow) => ipFamily(packetOf(flow).source) === family)
}

const anyFlows = fc.array(anyFlow, { minLength: 30, maxLength: 30 })

type Cluster = Parameters<typeof changesBetween>[1]

/** The first pod has one more address of each family. */
function withMoreAddresses(cluster: Cluster): Cluster {
  const [first, ...others] = cluster.pods
  if (first === undefined) return cluster
  return { ...cluster, pods: [{ ...first, ips: [...first.ips, ipOf('10.244.0.4'), ipOf('fd00:0::4')] }, ...others] }
}

/** A pod sends to another address of its own without a rule. */
function isBetweenOwn({ pods }: Cluster, { source, destination }: Flow): boolean {
  const isOf = (ips: readonly string[], end: Flow['source']) => end.address !== undefined && ips.includes(end.address)
  return source.address !== destination.address && pods.some(({ ips }) => isOf(ips, source) && isOf(ips, destination))
}

describe('the plan of NetworkPolicy', () => {
  test('its chains and sets judge each flow as the evaluator does, also where pods have several addresses', () => {
    fc.assert(
      fc.property(anyState, fc.boolean(), anyFlows, (state, hasMore, all) => {
        const cluster = hasMore ? withMoreAddresses(state) : state
        const flows = all.filter((flow) => !isBetweenOwn(cluster, flow))
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
      { numRuns: 600 },
    )
  })

  test('step by step it makes what it makes at once, in every order', () => {
    fc.assert(
      fc.property(anyHistoryOfAddresses, (clusters) => {
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
      fc.property(anyHistory, anyFlows, (clusters, flows) => {
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
