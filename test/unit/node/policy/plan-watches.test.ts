import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Labels } from '../../../../src/model/network-policy.ts'
import { planPodWatch } from '../../../../src/node/policy/plan-watches.ts'
import { ipBlock, podsPeer, policyOf, portNamed, portRange } from '../../../helpers/policy-cluster.ts'

const namespaces = new Map<string, Labels>(Array.from({ length: 12 }, (_, index) => [`n${index}`, { n: `${index}` }]))

describe('planPodWatch', () => {
  test('without pod peers the pods of this node are enough', () => {
    const policies = [
      policyOf('n0/deny', { ingress: [] }),
      policyOf('n0/block', { egress: [{ peers: [ipBlock('10.0.0.0/8')] }] }),
      policyOf('n0/http', { ingress: [{ ports: [portNamed('http')] }] }),
    ]
    assert.deepEqual(planPodWatch(policies, namespaces), { kind: 'local' })
    assert.deepEqual(planPodWatch([], namespaces), { kind: 'local' })
  })

  test('peers name the namespace of the policy and the namespaces with the labels', () => {
    const policies = [
      policyOf('n9/own', { ingress: [{ peers: [podsPeer({ a: 'b' })] }] }),
      policyOf('n9/other', { egress: [{ peers: [podsPeer({}, { n: '3' })], ports: [portRange(80)] }] }),
    ]
    assert.deepEqual(planPodWatch(policies, namespaces), { kind: 'namespaces', namespaces: ['n3', 'n9'] })
  })

  test('32 namespaces are watched one by one, 33 as all', () => {
    const many = Array.from({ length: 32 }, (_, index) => [`m${index}`, { many: 'yes' }] as const)
    const policy = policyOf('m0/many', { ingress: [{ peers: [podsPeer({}, { many: 'yes' })] }] })
    const wanted = many.map(([name]) => name).sort()
    assert.deepEqual(planPodWatch([policy], many), { kind: 'namespaces', namespaces: wanted })
    const one = policyOf('n9/one', { ingress: [{ peers: [podsPeer({})] }] })
    assert.deepEqual(planPodWatch([policy, one], many), { kind: 'all' })
  })

  test('all pods matter to an empty namespace selector, and to an egress rule that names a port of every destination', () => {
    const everywhere = policyOf('n0/all', { ingress: [{ peers: [podsPeer({}, {})] }] })
    assert.deepEqual(planPodWatch([everywhere], namespaces), { kind: 'all' })
    const http = policyOf('n0/http', { egress: [{ ports: [portNamed('http')] }] })
    assert.deepEqual(planPodWatch([http], namespaces), { kind: 'all' })
  })
})
