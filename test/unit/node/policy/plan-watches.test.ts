import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Labels, NetworkPolicy } from '../../../../src/model/network-policy.ts'
import { RemotePodScope, type RemotePods } from '../../../../src/node/policy/plan-watches.ts'
import { ipBlock, podsPeer, policyOf, portNamed, portRange } from '../../../helpers/policy-cluster.ts'

const namespaces = new Map<string, Labels>(Array.from({ length: 12 }, (_, index) => [`n${index}`, { n: `${index}` }]))

function scopeOf(policies: readonly NetworkPolicy[], known: Iterable<readonly [string, Labels]>): RemotePodScope {
  const scope = new RemotePodScope()
  for (const [name, labels] of known) scope.replaceNamespace(name, labels)
  for (const policy of policies) scope.replacePolicy(policy.key, policy)
  return scope
}

function planPodWatch(policies: readonly NetworkPolicy[], known: Iterable<readonly [string, Labels]>): RemotePods {
  return scopeOf(policies, known).wanted
}

describe('the scope of remote pods', () => {
  test('without pod peers the pods of this node are enough', () => {
    const policies = [
      policyOf('n0/deny', { ingress: [] }),
      policyOf('n0/block', { egress: [{ peers: [ipBlock('10.0.0.0/8')] }] }),
      policyOf('n0/http', { ingress: [{ ports: [portNamed('http')] }] }),
    ]
    assert.deepEqual(planPodWatch(policies, namespaces), new Set())
    assert.deepEqual(planPodWatch([], namespaces), new Set())
  })

  test('peers name the namespace of the policy and the namespaces with the labels', () => {
    const policies = [
      policyOf('n9/own', { ingress: [{ peers: [podsPeer({ a: 'b' })] }] }),
      policyOf('n9/other', { egress: [{ peers: [podsPeer({}, { n: '3' })], ports: [portRange(80)] }] }),
    ]
    assert.deepEqual(planPodWatch(policies, namespaces), new Set(['n3', 'n9']))
  })

  test('32 namespaces are watched one by one, 33 as all', () => {
    const many = Array.from({ length: 32 }, (_, index) => [`m${index}`, { many: 'yes' }] as const)
    const policy = policyOf('m0/many', { ingress: [{ peers: [podsPeer({}, { many: 'yes' })] }] })
    const wanted = many.map(([name]) => name)
    assert.deepEqual(planPodWatch([policy], many), new Set(wanted))
    const one = policyOf('n9/one', { ingress: [{ peers: [podsPeer({})] }] })
    assert.deepEqual(planPodWatch([policy, one], many), 'all')
  })

  test('all pods matter to an empty namespace selector, and to an egress rule that names a port of every destination', () => {
    const everywhere = policyOf('n0/all', { ingress: [{ peers: [podsPeer({}, {})] }] })
    assert.deepEqual(planPodWatch([everywhere], namespaces), 'all')
    const http = policyOf('n0/http', { egress: [{ ports: [portNamed('http')] }] })
    assert.deepEqual(planPodWatch([http], namespaces), 'all')
  })

  test('a change of a policy or of the labels of a namespace is as if it had always been so', () => {
    const one = policyOf('n0/one', { ingress: [{ peers: [podsPeer({}, { n: '3' }), podsPeer({}, { team: 'a' })] }] })
    const two = policyOf('n1/two', { egress: [{ peers: [podsPeer({}, { n: '3' }), podsPeer({})] }] })
    const scope = scopeOf([one, two], namespaces)
    assert.deepEqual(scope.wanted, new Set(['n3', 'n1']))
    scope.replaceNamespace('n5', { team: 'a' })
    assert.deepEqual(scope.wanted, new Set(['n3', 'n5', 'n1']))
    scope.replacePolicy(two.key, undefined)
    assert.deepEqual(scope.wanted, new Set(['n3', 'n5']))
    scope.replaceNamespace('n3', undefined)
    assert.deepEqual(scope.wanted, new Set(['n5']))
    scope.replacePolicy(one.key, policyOf('n0/one', { ingress: [{ peers: [podsPeer({}, {})] }] }))
    assert.equal(scope.wanted, 'all')
    scope.replacePolicy(one.key, undefined)
    assert.deepEqual(scope.wanted, new Set())
  })
})
