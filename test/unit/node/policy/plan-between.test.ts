import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NetworkPolicy } from '../../../../src/model/network-policy.ts'
import { PolicyPlan } from '../../../../src/node/policy/plan.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { podOf, podsPeer, policyOf, selects } from '../../../helpers/policy-cluster.ts'
import { PolicyKernel } from '../../../helpers/policy-kernel.ts'

const pods = [
  podOf('x/a', ['10.0.0.1'], { labels: { pod: 'a', both: 'yes' } }),
  podOf('x/b', ['10.0.0.2'], { labels: { pod: 'b', both: 'yes' } }),
  podOf('x/c', ['10.0.0.3']),
]
const fromC = [{ peers: [podsPeer({ pod: 'c' })] }]
const [both, onlyA, onlyB] = [{ both: 'yes' }, { pod: 'a' }, { pod: 'b' }].map(selects)
const byKey = (policies: readonly NetworkPolicy[]) => new Map(policies.map((policy) => [policy.key, policy]))

/** What a packet of c to a meets: before the change, after new members, after the commit of chains, and at the end. */
function verdictsOf(before: readonly NetworkPolicy[], after: readonly NetworkPolicy[]): readonly string[] {
  const plan = new PolicyPlan({
    family: 'IPv4',
    dnsAddresses: [],
    podCidrs: [],
    isolatesUnknown: false,
    logsDenied: false,
  })
  const kernel = new PolicyKernel('IPv4')
  const walk = () =>
    kernel.walk({ source: ipOf('10.0.0.3'), destination: ipOf('10.0.0.1'), protocol: 'TCP', port: 80 }).verdict
  const all = { pods: new Map(pods.map((pod) => [pod.key, pod])), namespaces: new Map([['x', {}]]) }
  kernel.apply(plan.update({ ...all, policies: byKey(before) }))
  const seen: string[] = [walk()]
  const step = plan.update({ policies: byKey(after), pods: new Map(), namespaces: new Map() })
  kernel.apply(step, () => seen.push(walk()))
  return [...seen, walk()]
}

test('a policy that changes its pods and its rules at once loses no packet that is allowed before and after', () => {
  const verdicts = verdictsOf(
    [policyOf('x/p', { podSelector: both ?? [], ingress: fromC })],
    [policyOf('x/p', { podSelector: onlyB ?? [], ingress: [] })],
  )
  assert.deepEqual([...new Set(verdicts)], ['pass'])
})

test('two policies that change at once pass no packet that is forbidden before and after', () => {
  const verdicts = verdictsOf(
    [
      policyOf('x/p', { podSelector: both ?? [], ingress: [] }),
      policyOf('x/q', { podSelector: onlyB ?? [], ingress: [] }),
    ],
    [
      policyOf('x/p', { podSelector: onlyB ?? [], ingress: fromC }),
      policyOf('x/q', { podSelector: onlyA ?? [], ingress: [] }),
    ],
  )
  assert.deepEqual([...new Set(verdicts)], ['drop'])
})
