import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { cidrContains, hostCidr } from '../../../../src/model/ip.ts'
import type { NetworkPolicy, PolicyPeer, PolicyPod, PolicyRule } from '../../../../src/model/network-policy.ts'
import { matchesLabels } from '../../../../src/model/selector.ts'
import { PolicyEvaluator } from '../../../../src/node/policy/evaluate.ts'
import type { Direction, Flow, FlowEnd } from '../../../../src/node/policy/verdict.ts'
import { anyCluster, anyFlow, anyPolicy } from '../../../helpers/arbitrary-policies.ts'
import { type ClusterObjects, clusterOf } from '../../../helpers/policy-cluster.ts'

type Objects = Required<ClusterObjects>

const manyFlows = fc.array(anyFlow, { minLength: 10, maxLength: 40 })
const anyScope = fc.constantFrom('everywhere' as const, 'this-node' as const)
const anyDirection = fc.constantFrom<Direction>('ingress', 'egress')

function evaluatorOf(objects: Objects, judges: 'everywhere' | 'this-node' = 'everywhere'): PolicyEvaluator {
  return new PolicyEvaluator(clusterOf(objects), { judges })
}

function withPolicies(objects: Objects, policies: readonly NetworkPolicy[]): Objects {
  return { ...objects, policies }
}

function podAt({ address }: FlowEnd, { pods }: Objects): PolicyPod | undefined {
  return pods.find(({ ips }) => address !== undefined && ips.includes(address))
}

function selectsPod({ namespace, podSelector }: NetworkPolicy, pod: PolicyPod): boolean {
  return namespace === pod.namespace && matchesLabels(podSelector, pod.labels)
}

/** The semantics read literally: what the evaluator does with indexes, in as few words as possible. */
function allowsLiterally(flow: Flow, direction: Direction, objects: Objects): boolean {
  const [own, other] = direction === 'ingress' ? [flow.destination, flow.source] : [flow.source, flow.destination]
  const [pod, peerPod, target] = [podAt(own, objects), podAt(other, objects), podAt(flow.destination, objects)]
  if (pod === undefined || pod === peerPod) return true
  const isolating = objects.policies.filter((policy) => policy[direction] !== undefined && selectsPod(policy, pod))
  const matchesPeer = (peer: PolicyPeer, { namespace }: NetworkPolicy) => {
    if (peer.kind === 'ip-block') {
      const network = hostCidr(other.address ?? assert.fail())
      return cidrContains(peer.cidr, network) && !peer.except.some((except) => cidrContains(except, network))
    }
    if (peerPod === undefined || !matchesLabels(peer.pods, peerPod.labels)) return false
    const labels = objects.namespaces[peerPod.namespace]
    return peer.namespaces === undefined
      ? peerPod.namespace === namespace
      : labels !== undefined && matchesLabels(peer.namespaces, labels)
  }
  const matchesPort = ({ ports }: PolicyRule, hasNames: boolean) =>
    ports === undefined ||
    ports.some((port) => {
      if (port.protocol !== flow.protocol) return false
      if (port.kind === 'range') return port.first <= flow.port && flow.port <= port.last
      const isNamed = (each: PolicyPod['ports'][number]) =>
        port.kind === 'name' && each.name === port.name && each.protocol === port.protocol && each.port === flow.port
      return port.kind === 'protocol' || (hasNames && target?.ports.some(isNamed) === true)
    })
  const matchesRule = (rule: PolicyRule, policy: NetworkPolicy) =>
    (rule.peers ?? [undefined]).some((peer) => {
      const hasNames = direction === 'ingress' || peer?.kind !== 'ip-block'
      return (peer === undefined || matchesPeer(peer, policy)) && matchesPort(rule, hasNames)
    })
  return (
    isolating.length === 0 ||
    isolating.some((policy) => (policy[direction] ?? []).some((rule) => matchesRule(rule, policy)))
  )
}

describe('the evaluator', () => {
  it('agrees with a literal reading of the semantics', () => {
    fc.assert(
      fc.property(anyCluster, manyFlows, (objects, flows) => {
        const evaluator = evaluatorOf(objects)
        for (const flow of flows) {
          const { egress, ingress } = evaluator.judge(flow)
          assert.equal(egress.isAllowed, allowsLiterally(flow, 'egress', objects))
          assert.equal(ingress.isAllowed, allowsLiterally(flow, 'ingress', objects))
        }
      }),
      { numRuns: 500 },
    )
  })

  it('allows a flow if and only if both directions do', () => {
    fc.assert(
      fc.property(anyCluster, manyFlows, anyScope, (objects, flows, scope) => {
        const evaluator = evaluatorOf(objects, scope)
        for (const flow of flows) {
          const { isAllowed, egress, ingress } = evaluator.judge(flow)
          assert.equal(isAllowed, egress.isAllowed && ingress.isAllowed)
          assert.equal(evaluator.allows(flow), isAllowed)
        }
      }),
    )
  })

  it('gives one verdict whatever the order of policies and pods', () => {
    const anyReordered = anyCluster.chain((objects) =>
      fc.record({
        objects: fc.constant(objects),
        policies: fc.shuffledSubarray([...objects.policies], { minLength: objects.policies.length }),
        pods: fc.shuffledSubarray([...objects.pods], { minLength: objects.pods.length }),
      }),
    )
    fc.assert(
      fc.property(anyReordered, manyFlows, ({ objects, policies, pods }, flows) => {
        const [before, after] = [evaluatorOf(objects), evaluatorOf({ ...objects, policies, pods })]
        for (const flow of flows) assert.deepEqual(after.judge(flow), before.judge(flow))
      }),
    )
  })

  it('allows the same whatever the order of rules, peers and ports', () => {
    const turnRule = ({ peers, ports }: PolicyRule) => ({
      ...(peers && { peers: peers.toReversed() }),
      ...(ports && { ports: ports.toReversed() }),
    })
    const turn = ({ ingress, egress, ...policy }: NetworkPolicy): NetworkPolicy => ({
      ...policy,
      ...(ingress && { ingress: ingress.map(turnRule).toReversed() }),
      ...(egress && { egress: egress.map(turnRule).toReversed() }),
    })
    fc.assert(
      fc.property(anyCluster, manyFlows, (objects, flows) => {
        const before = evaluatorOf(objects)
        const after = evaluatorOf(withPolicies(objects, objects.policies.map(turn)))
        for (const flow of flows) assert.equal(after.judge(flow).isAllowed, before.judge(flow).isAllowed)
      }),
    )
  })

  it('gives one verdict whether it judges a flow first or last', () => {
    fc.assert(
      fc.property(anyCluster, manyFlows, (objects, flows) => {
        const used = evaluatorOf(objects)
        for (const flow of flows) assert.deepEqual(used.judge(flow), evaluatorOf(objects).judge(flow))
      }),
    )
  })

  it('never denies more by a further policy where the pods are isolated already', () => {
    fc.assert(
      fc.property(anyCluster, anyPolicy, manyFlows, anyDirection, (objects, added, flows, direction) => {
        const { ingress: _ingress, egress: _egress, ...base } = added
        const further = { ...base, key: `${added.namespace}/added`, [direction]: added[direction] ?? [{}] }
        const closing = { ...base, key: `${added.namespace}/closing`, [direction]: [] }
        const policies = [...objects.policies, closing]
        const before = evaluatorOf(withPolicies(objects, policies))
        const after = evaluatorOf(withPolicies(objects, [...policies, further]))
        for (const flow of flows) {
          if (before.judge(flow).isAllowed) assert.equal(after.judge(flow).isAllowed, true)
        }
      }),
    )
  })

  it('changes nothing by a policy that selects no pod, and nothing in a direction that a policy does not isolate', () => {
    const nothing = [{ key: 'app', operator: 'in' as const, values: [] }]
    fc.assert(
      fc.property(anyCluster, anyPolicy, manyFlows, anyDirection, (objects, added, flows, direction) => {
        const before = evaluatorOf(objects)
        const { [direction]: _rules, ...oneWay } = { ...added, key: `${added.namespace}/added` }
        const selecting = evaluatorOf(withPolicies(objects, [...objects.policies, oneWay]))
        const idle = evaluatorOf(withPolicies(objects, [...objects.policies, { ...oneWay, podSelector: nothing }]))
        for (const flow of flows) {
          assert.deepEqual(idle.judge(flow), before.judge(flow))
          assert.deepEqual(selecting.judge(flow)[direction], before.judge(flow)[direction])
        }
      }),
    )
  })

  it('changes verdicts by a policy only for the pods that it selects', () => {
    fc.assert(
      fc.property(anyCluster, anyPolicy, manyFlows, anyDirection, (objects, added, flows, direction) => {
        const policy = { ...added, key: `${added.namespace}/added` }
        const [before, after] = [
          evaluatorOf(objects),
          evaluatorOf(withPolicies(objects, [...objects.policies, policy])),
        ]
        for (const flow of flows) {
          const pod = podAt(direction === 'ingress' ? flow.destination : flow.source, objects)
          if (pod === undefined || !selectsPod(policy, pod))
            assert.deepEqual(after.judge(flow)[direction], before.judge(flow)[direction])
        }
      }),
    )
  })

  it('judges on this node as everywhere, the ends on other nodes left out', () => {
    fc.assert(
      fc.property(anyCluster, manyFlows, (objects, flows) => {
        const [here, everywhere] = [evaluatorOf(objects, 'this-node'), evaluatorOf(objects)]
        for (const flow of flows) {
          const [own, all] = [here.judge(flow), everywhere.judge(flow)]
          const isRemote = (end: FlowEnd) => podAt(end, objects)?.isLocal === false
          if (isRemote(flow.source)) assert.equal(own.egress.reason, 'other-node')
          else assert.deepEqual(own.egress, all.egress)
          if (isRemote(flow.destination)) assert.equal(own.ingress.reason, 'other-node')
          else assert.deepEqual(own.ingress, all.ingress)
        }
      }),
    )
  })
})
