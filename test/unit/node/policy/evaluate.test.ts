import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { NetworkPolicy, PolicyPod } from '../../../../src/model/network-policy.ts'
import { type EvaluatorOptions, PolicyEvaluator } from '../../../../src/node/policy/evaluate.ts'
import type { Direction } from '../../../../src/node/policy/verdict.ts'
import { clusterOf, ipBlock, podOf, podsPeer, policyOf, portNamed } from '../../../helpers/policy-cluster.ts'
import {
  cornerNamespaces,
  cornerNode,
  cornerPods,
  flowOf,
  policiesOf,
  policyCorners,
} from '../../../helpers/policy-corners.ts'

interface World {
  readonly policies: readonly NetworkPolicy[]
  readonly pods?: readonly PolicyPod[]
  readonly options?: Partial<EvaluatorOptions>
}

function evaluatorOf({ policies, pods: present = cornerPods, options = {} }: World): PolicyEvaluator {
  const cluster = clusterOf({ policies, pods: present, namespaces: cornerNamespaces })
  return new PolicyEvaluator(cluster, {
    judges: 'everywhere',
    isNodeAddress: (ip, { isLocal }) => isLocal && ip === cornerNode,
    ...options,
  })
}

describe('the evaluator, by corners of the semantics:', () => {
  for (const { title, policies, allowed = [], denied = [] } of policyCorners) {
    it(title, () => {
      const evaluator = evaluatorOf({ policies: policiesOf(policies) })
      const allow = (flow: string) => evaluator.judge(flowOf(flow)).isAllowed
      assert.deepEqual(
        allowed.filter((flow) => !allow(flow)),
        [],
        'denied, and should be allowed',
      )
      assert.deepEqual(
        denied.filter((flow) => allow(flow)),
        [],
        'allowed, and should be denied',
      )
    })
  }
})

describe('the evaluator', () => {
  it('judges by the labels of now: a change of a pod or namespace counts on both ends', () => {
    const policies = [policyOf('x/p', { podSelector: [], ingress: [{ peers: [podsPeer({ pod: 'b' }, { ns: 'y' })] }] })]
    const relabeled = cornerPods.map((pod) => (pod.key === 'y/c' ? { ...pod, labels: { pod: 'b' } } : pod))
    assert.equal(evaluatorOf({ policies }).judge(flowOf('y/c > x/a TCP 80')).isAllowed, false)
    assert.equal(evaluatorOf({ policies, pods: relabeled }).judge(flowOf('y/c > x/a TCP 80')).isAllowed, true)
  })

  it('names the policy, rule and peer that allow, the first by key', () => {
    const policies = [
      policyOf('x/z', { ingress: [{}] }),
      policyOf('x/b', {
        ingress: [{ peers: [podsPeer({ pod: 'q' })] }, { peers: [podsPeer({ pod: 'r' }), podsPeer({ pod: 'b' })] }],
      }),
    ]
    const by = (flow: string) => evaluatorOf({ policies }).judge(flowOf(flow)).ingress
    assert.deepEqual(by('x/b > x/a TCP 80'), { isAllowed: true, reason: 'rule', policy: 'x/b', rule: 1, peer: 1 })
    assert.deepEqual(by('x/c > x/a TCP 80'), {
      isAllowed: true,
      reason: 'rule',
      policy: 'x/z',
      rule: 0,
      peer: undefined,
    })
  })

  it('names the policies that isolate, and for each rule what does not match', () => {
    const policies = [
      policyOf('x/b', {
        ingress: [{ peers: [podsPeer({ pod: 'b' })], ports: [portNamed('dns')] }, { peers: [ipBlock('192.0.2.0/24')] }],
      }),
      policyOf('x/a', { ingress: [] }),
    ]
    const { isAllowed, ingress, egress } = evaluatorOf({ policies }).judge(flowOf('x/b > x/a TCP 80'))
    assert.equal(isAllowed, false)
    assert.deepEqual(egress, { isAllowed: true, reason: 'not-isolated' })
    assert.deepEqual(ingress, {
      isAllowed: false,
      reason: 'no-rule',
      policies: [
        { policy: 'x/a', rules: [] },
        { policy: 'x/b', rules: ['port', 'peer'] },
      ],
    })
  })

  it('says why no policy decides', () => {
    const policies = [policyOf('x/p', { ingress: [], egress: [] })]
    const reasons = (flow: string) => {
      const { egress, ingress } = evaluatorOf({ policies }).judge(flowOf(flow))
      return [egress.reason, ingress.reason]
    }
    assert.deepEqual(reasons('192.0.2.1 > 192.0.2.2 TCP 80'), ['no-pod', 'no-pod'])
    assert.deepEqual(reasons('x/a > x/a TCP 80'), ['itself', 'itself'])
    assert.deepEqual(reasons('x/a > 10.244.0.254 TCP 80'), ['own-node', 'no-pod'])
    assert.deepEqual(reasons('y/a > y/b TCP 80'), ['not-isolated', 'not-isolated'])
  })

  it('judges on this node the egress of local pods and the ingress to local pods only', () => {
    const policies = [policyOf('x/p', { ingress: [], egress: [] }), policyOf('y/p', { ingress: [], egress: [] })]
    const spread = cornerPods.map((pod) => ({ ...pod, isLocal: pod.namespace !== 'y' }))
    const here = evaluatorOf({ policies, pods: spread, options: { judges: 'this-node' } })
    const judge = (flow: string) => {
      const { isAllowed, egress, ingress } = here.judge(flowOf(flow))
      return [isAllowed, egress.reason, ingress.reason]
    }
    assert.deepEqual(judge('y/a > y/b TCP 80'), [true, 'other-node', 'other-node'])
    assert.deepEqual(judge('y/a > x/a TCP 80'), [false, 'other-node', 'no-rule'])
    assert.deepEqual(judge('x/a > y/a TCP 80'), [false, 'no-rule', 'other-node'])
    assert.deepEqual(judge('10.244.0.254 > y/a TCP 80'), [true, 'no-pod', 'other-node'])
  })

  it('reaches no pod of another node from this node where a policy denies it', () => {
    const policies = [policyOf('y/p', { ingress: [] })]
    const spread = cornerPods.map((pod) => ({ ...pod, isLocal: pod.namespace !== 'y' }))
    assert.equal(evaluatorOf({ policies, pods: spread }).judge(flowOf('10.244.0.254 > y/a TCP 80')).isAllowed, false)
  })

  it('isolates a pod whose object is not known, also as a peer; its node reaches it', () => {
    const unknown = podOf('x/new', ['10.244.0.9'], { isUnknown: true })
    const policies = [policyOf('x/p', { podSelector: [], ingress: [{ peers: [podsPeer({})] }] })]
    const evaluator = evaluatorOf({ policies, pods: [...cornerPods, unknown] })
    const judge = (flow: string) => evaluator.judge(flowOf(flow))
    assert.equal(judge('x/a > 10.244.0.9 TCP 80').ingress.reason, 'unknown-pod')
    assert.equal(judge('10.244.0.9 > 192.0.2.1 TCP 80').egress.reason, 'unknown-pod')
    assert.equal(judge('10.244.0.9 > x/a TCP 80').ingress.reason, 'no-rule')
    assert.equal(judge('10.244.0.254 > 10.244.0.9 TCP 80').isAllowed, true)
    assert.equal(judge('10.244.0.9 > 10.244.0.9 TCP 80').isAllowed, true)
  })

  it('does not match a namespace that is not known, not even by the empty selector', () => {
    const stray = podOf('new/a', ['10.244.9.1'])
    const policies = [policyOf('x/p', { ingress: [{ peers: [podsPeer({}, {})] }] })]
    const evaluator = evaluatorOf({ policies, pods: [...cornerPods, stray] })
    assert.equal(evaluator.judge(flowOf('10.244.9.1 > x/a TCP 80')).isAllowed, false)
    assert.equal(evaluator.judge(flowOf('y/a > x/a TCP 80')).isAllowed, true)
  })

  it('judges by the pod where it is given one without an address, and no ipBlock matches it', () => {
    const pending = podOf('x/b', [])
    const [first] = cornerPods
    const flow = (policy: NetworkPolicy) =>
      evaluatorOf({ policies: [policy] }).judge({
        source: { pod: pending },
        destination: { pod: first },
        protocol: 'TCP',
        port: 80,
      })
    assert.equal(
      flow(policyOf('x/p', { podSelector: [], ingress: [{ peers: [podsPeer({ pod: 'b' })] }] })).isAllowed,
      true,
    )
    assert.equal(
      flow(policyOf('x/p', { podSelector: [], ingress: [{ peers: [ipBlock('0.0.0.0/0')] }] })).isAllowed,
      false,
    )
  })

  it('takes an address that two pods have for the unknown or else the local one', () => {
    const policies = [policyOf('x/p', { ingress: [] })]
    const flow = flowOf('192.0.2.1 > 10.244.9.9 TCP 80')
    const remote = podOf('y/old', ['10.244.9.9'], { isLocal: false })
    const local = podOf('x/new', ['10.244.9.9'])
    const unknown = podOf('z/newest', ['10.244.9.9'], { isUnknown: true })
    for (const present of [
      [remote, local],
      [local, remote],
    ])
      assert.equal(evaluatorOf({ policies, pods: present }).judge(flow).ingress.reason, 'no-rule')
    for (const present of [
      [local, unknown],
      [unknown, local],
    ])
      assert.equal(evaluatorOf({ policies, pods: present }).judge(flow).ingress.reason, 'unknown-pod')
  })

  it('finds pods by the index that it is given', () => {
    const [first] = cornerPods
    const policies = [policyOf('x/p', { ingress: [] })]
    const evaluator = evaluatorOf({ policies, pods: [], options: { podAt: () => first } })
    assert.equal(evaluator.judge(flowOf('192.0.2.1 > 198.51.100.1 TCP 80')).ingress.reason, 'itself')
  })

  it('lists the policies that isolate a pod by direction', () => {
    const policies = [
      policyOf('x/b', { ingress: [] }),
      policyOf('x/a', { ingress: [], egress: [] }),
      policyOf('y/a', { ingress: [] }),
    ]
    const [first] = cornerPods
    assert.ok(first !== undefined)
    const evaluator = evaluatorOf({ policies })
    const keys = (direction: Direction) => evaluator.isolatingPolicies(first, direction).map(({ key }) => key)
    assert.deepEqual(keys('ingress'), ['x/a', 'x/b'])
    assert.deepEqual(keys('egress'), ['x/a'])
  })
})
