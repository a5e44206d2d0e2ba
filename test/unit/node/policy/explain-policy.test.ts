import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { NetworkPolicy } from '../../../../src/model/network-policy.ts'
import { type EvaluatorOptions, PolicyEvaluator } from '../../../../src/node/policy/evaluate.ts'
import { explainPolicy } from '../../../../src/node/policy/explain-policy.ts'
import { clusterOf, podOf, podsPeer, policyOf, portRange } from '../../../helpers/policy-cluster.ts'
import { cornerNamespaces, cornerNode, cornerPods, flowOf } from '../../../helpers/policy-corners.ts'

function explain(flow: string, policies: readonly NetworkPolicy[], options: Partial<EvaluatorOptions> = {}) {
  const pods = [...cornerPods, podOf('x/new', ['10.244.0.9'], { isUnknown: true })]
  const cluster = clusterOf({ policies, pods, namespaces: cornerNamespaces })
  const isNodeAddress = (ip: string, { isLocal }: { isLocal: boolean }) => isLocal && ip === cornerNode
  return explainPolicy(new PolicyEvaluator(cluster, { judges: 'everywhere', isNodeAddress, ...options }), flowOf(flow))
    .lines
}

const fromB = { peers: [podsPeer({ pod: 'q' }), podsPeer({ pod: 'b' })], ports: [portRange(80)] }

describe('the explanation of a verdict', () => {
  it('names the rule that allows', () => {
    assert.deepEqual(explain('x/b > x/a TCP 80', [policyOf('x/p', { ingress: [{ peers: [] }, fromB] })]), [
      'Network policies allow TCP port 80 from pod x/b (10.244.0.2) to pod x/a (10.244.0.1).',
      '  egress: no policy isolates pod x/b (10.244.0.2) in this direction.',
      '  ingress: policy x/p allows it by spec.ingress[1].from[1].',
    ])
  })

  it('names a rule without peers, and other protocols', () => {
    assert.deepEqual(explain('x/a > 192.0.2.1 other', [policyOf('x/p', { egress: [{}] })]), [
      'Network policies allow protocols without ports from pod x/a (10.244.0.1) to 192.0.2.1.',
      '  egress: policy x/p allows it by spec.egress[0].',
      '  ingress: 192.0.2.1 belongs to no pod that is known here; policies isolate pods only.',
    ])
  })

  it('names what isolates, and why each rule does not match', () => {
    const policies = [
      policyOf('x/p', { ingress: [fromB, { peers: [podsPeer({ pod: 'c' })] }] }),
      policyOf('x/deny', { ingress: [] }),
    ]
    assert.deepEqual(explain('x/b > x/a TCP 81', policies).slice(2), [
      '  ingress: denied: 2 policies isolate pod x/a (10.244.0.1), and no rule matches.',
      '    x/deny has no ingress rules.',
      '    x/p spec.ingress[0]: its ports do not match.',
      '    x/p spec.ingress[1]: no peer matches pod x/b (10.244.0.2).',
    ])
  })

  it('is bounded', () => {
    const rules = Array.from({ length: 40 }, () => ({ peers: [podsPeer({ pod: 'q' })] }))
    const lines = explain('x/b > x/a TCP 81', [policyOf('x/p', { ingress: rules })])
    assert.equal(lines.length, 3 + 12 + 1)
    assert.equal(lines.at(-1), '    and 28 more rules that do not match.')
  })

  const policies = [policyOf('x/p', { ingress: [], egress: [] })]
  const reasons: readonly [string, string, RegExp][] = [
    ['a pod and itself', 'x/a > x/a TCP 1', /allow.*egress: a pod always reaches itself/s],
    ['a pod and its node', 'x/a > 10.244.0.254 TCP 1', /egress: 10\.244\.0\.254 is its node; a node and its own pods/],
    [
      'a pod whose object is not known',
      '10.244.0.9 > 192.0.2.1 TCP 1',
      /deny.*egress: denied: the object of pod x\/new .* is not known yet/s,
    ],
  ]
  for (const [title, flow, expected] of reasons)
    it(`says why, of ${title}`, () => assert.match(explain(flow, policies).join('\n'), expected))

  it('leaves a pod of another node to that node', () => {
    const pods = cornerPods.map((pod) => ({ ...pod, isLocal: pod.namespace === 'x' }))
    const evaluator = new PolicyEvaluator(clusterOf({ pods, namespaces: cornerNamespaces }), { judges: 'this-node' })
    assert.match(
      explainPolicy(evaluator, flowOf('x/a > y/a TCP 1')).lines.join('\n'),
      /ingress: pod y\/a \(10\.244\.1\.1\) runs on another node, whose agent judges this direction/,
    )
  })
})
