import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Labels, NetworkPolicy, PolicyChanges, PolicyPod } from '../../../../src/model/network-policy.ts'
import { equalHashes } from '../../../../src/model/xor-hash.ts'
import type { PolicyRuleSettings } from '../../../../src/netfilter/policy/settings.ts'
import { PolicyPlan, type PolicyStep } from '../../../../src/node/policy/plan.ts'
import { cidrOf, ipOf } from '../../../helpers/addresses.ts'
import { ipBlock, podOf, podsPeer, policyOf, selects } from '../../../helpers/policy-cluster.ts'
import { PolicyKernel } from '../../../helpers/policy-kernel.ts'

const settings: PolicyRuleSettings = {
  family: 'IPv4',
  dnsAddresses: [],
  podCidrs: [cidrOf('10.244.0.0/24')],
  isolatesUnknown: true,
  logsDenied: false,
}

interface Given {
  readonly policies?: readonly NetworkPolicy[]
  readonly pods?: readonly PolicyPod[]
  readonly namespaces?: Readonly<Record<string, Labels>>
  readonly gone?: readonly string[]
}

function changes({ policies = [], pods = [], namespaces = {}, gone = [] }: Given): PolicyChanges {
  return {
    policies: new Map(policies.map((policy) => [policy.key, policy])),
    pods: new Map([...pods.map((pod) => [pod.key, pod] as const), ...gone.map((key) => [key, undefined] as const)]),
    namespaces: new Map(Object.entries(namespaces)),
  }
}

const [web, db] = [podOf('x/web', ['10.244.0.2']), podOf('x/db', ['10.244.0.3'])]
const client = podOf('x/client', ['10.244.1.4'], { isLocal: false })
const webPolicy = policyOf('x/web', {
  podSelector: selects({ pod: 'web' }),
  ingress: [{ peers: [podsPeer({ pod: 'client' }), ipBlock('192.0.2.0/24')] }],
})
const tcp80 = { protocol: 'TCP', port: 80 } as const

function start(given: Given, with_ = settings) {
  const [plan, kernel] = [new PolicyPlan(with_), new PolicyKernel('IPv4')]
  kernel.apply(plan.update(changes(given)))
  const update = (next: Given): PolicyStep => {
    const step = plan.update(changes(next))
    kernel.apply(step)
    return step
  }
  const passes = (source: string, destination: string) =>
    kernel.walk({ source: ipOf(source), destination: ipOf(destination), ...tcp80 }).verdict === 'pass'
  return { plan, kernel, update, passes }
}

describe('PolicyPlan', () => {
  test('a remote pod is one element of each set that wants it, and no rule', () => {
    const { plan, update } = start({ pods: [web, db], policies: [webPolicy] })
    const before = plan.hash
    const { table, sets } = update({ pods: [client] })
    assert.equal(table, undefined)
    assert.deepEqual([...sets.add.values()], [['10.244.1.4']])
    assert.deepEqual([sets.create.size, sets.remove.size, sets.destroy], [0, 0, []])
    assert.ok(equalHashes(plan.hash, before))
    const gone = update({ gone: [client.key] })
    assert.deepEqual([gone.table, [...gone.sets.remove.values()]], [undefined, [['10.244.1.4']]])
  })

  test('a local pod of a group that stands is elements only', () => {
    const { update } = start({ pods: [web], policies: [webPolicy] })
    const { table, sets } = update({ pods: [podOf('x/web2', ['10.244.0.9'], { labels: { pod: 'web' } })] })
    assert.equal(table, undefined)
    assert.deepEqual(new Set([...sets.add.values()].flat()), new Set(['10.244.0.9']))
    assert.deepEqual([sets.create.size, sets.remove.size], [0, 0])
  })

  test('a group that is new touches its own bucket and no other', () => {
    const { update } = start({ pods: [web, db], policies: [webPolicy] })
    const dbPolicy = policyOf('x/db2', { podSelector: selects({ pod: 'db' }), ingress: [] })
    const { table } = update({ policies: [dbPolicy] })
    const names = [...(table?.set.keys() ?? [])].map((name) => name.replace(/[A-Z2-7]{16}$/, '*'))
    assert.deepEqual(names.sort(), ['PLAT-NPI-*', 'PLAT-NWI', 'PLAT-NWI-*', 'PLAT-NWI-B3'])
  })

  test('another rule of a policy writes the chain of the policy alone', () => {
    const { update, passes } = start({ pods: [web, db, client], policies: [webPolicy] })
    assert.ok(passes('192.0.2.1', '10.244.0.2') && passes('10.244.1.4', '10.244.0.2'))
    const { table, sets } = update({
      policies: [{ ...webPolicy, ingress: [{ peers: [podsPeer({ pod: 'client' })] }] }],
    })
    assert.equal(table?.set.size, 1)
    assert.deepEqual([sets.create.size, sets.destroy.length], [1, 1])
    assert.ok(!passes('192.0.2.1', '10.244.0.2') && passes('10.244.1.4', '10.244.0.2'))
  })

  test('a policy that selects no pod of this node has neither chain nor set', () => {
    const { kernel, update } = start({ pods: [db, client], policies: [webPolicy] })
    const before = kernel.describe()
    update({ pods: [web] })
    assert.notEqual(kernel.describe(), before)
    update({ gone: [web.key] })
    assert.equal(kernel.describe(), before)
  })

  test('policies with equal peers share a set, which goes with the last of them', () => {
    const other = { ...webPolicy, key: 'x/other', name: 'other' }
    const { kernel, update } = start({ pods: [web, client], policies: [webPolicy, other] })
    const peerSets = () => [...kernel.sets.keys()].filter((name) => name.startsWith('PLAT-NP-P4'))
    assert.equal(peerSets().length, 1)
    update({ policies: [{ ...webPolicy, ingress: [] }] })
    assert.equal(peerSets().length, 1)
    update({ policies: [{ ...other, ingress: [] }] })
    assert.equal(peerSets().length, 0)
  })

  test('a chain and a set lead to the policies that have them', () => {
    const other = { ...webPolicy, key: 'x/other', name: 'other' }
    const { plan, kernel } = start({
      pods: [web, client],
      policies: [webPolicy, other, policyOf('x/deny', { ingress: [] })],
    })
    const named = [...kernel.sets.keys(), ...kernel.chains.keys()].map((name) =>
      plan.policiesOf(name).toSorted().join(),
    )
    const found = [...new Set(named)].sort()
    assert.deepEqual(found, ['', 'x/deny', 'x/other', 'x/other,x/web', 'x/web'])
  })

  test('an address is found at the pod that has it now, in whichever order its pods come', () => {
    const [gone, heir] = [podOf('x/web', []), podOf('x/heir', ['10.244.0.2'])]
    for (const pods of [
      [gone, heir],
      [heir, gone],
    ]) {
      const { plan, update } = start({ pods: [web] })
      assert.equal(plan.podAt(ipOf('10.244.0.2'))?.key, 'x/web')
      update({ pods })
      assert.equal(plan.podAt(ipOf('10.244.0.2'))?.key, 'x/heir')
      update({ gone: ['x/heir'] })
      assert.equal(plan.podAt(ipOf('10.244.0.2')), undefined)
    }
  })

  test('an element of two sources stays until both are gone', () => {
    const policy = { ...webPolicy, ingress: [{ peers: [podsPeer({ pod: 'client' }), ipBlock('10.244.1.4/32')] }] }
    const { passes, update } = start({ pods: [web, client], policies: [policy] })
    const { sets } = update({ gone: [client.key] })
    assert.deepEqual([sets.add.size, sets.remove.size], [0, 0])
    assert.ok(passes('10.244.1.4', '10.244.0.2'))
  })

  test('an unknown pod neither sends nor receives until its object is there, and its address is no other pod', () => {
    const unknown: PolicyPod = { ...podOf('x/new', ['10.244.0.7'], { labels: {} }), isUnknown: true }
    const { passes, update } = start({ pods: [web] })
    assert.ok(!passes('10.244.0.7', '10.244.0.2') && !passes('10.244.0.2', '10.244.0.7'))
    assert.equal(update({ pods: [unknown] }).table, undefined)
    assert.ok(!passes('10.244.0.7', '10.244.0.2') && !passes('10.244.0.2', '10.244.0.7'))
    assert.ok(passes('10.244.0.7', '10.244.0.7'))
    assert.equal(update({ pods: [podOf('x/new', ['10.244.0.7'])] }).table, undefined)
    assert.ok(passes('10.244.0.7', '10.244.0.2') && passes('10.244.0.2', '10.244.0.7'))
  })

  test('a pod that reaches itself through a Service passes whatever its policies say', () => {
    const { passes } = start({ pods: [web], policies: [policyOf('x/deny', { ingress: [], egress: [] })] })
    assert.ok(passes('10.244.0.2', '10.244.0.2'))
    assert.ok(!passes('10.244.0.2', '10.244.1.4') && !passes('10.244.1.4', '10.244.0.2'))
  })

  test('IPv6 neighbour discovery passes an isolated pod, an echo request does not', () => {
    const [plan, kernel] = [new PolicyPlan({ ...settings, family: 'IPv6' }), new PolicyKernel('IPv6')]
    const deny = policyOf('x/deny', { ingress: [], egress: [] })
    kernel.apply(plan.update(changes({ pods: [podOf('x/web', ['fd00::2'])], policies: [deny] })))
    const judge = (icmpv6Type: number) =>
      kernel.walk({ source: ipOf('fd00::1'), destination: ipOf('fd00::2'), protocol: 'other', port: 0, icmpv6Type })
    assert.deepEqual(
      [133, 134, 135, 136, 128, 137].map((type) => judge(type).verdict),
      ['pass', 'pass', 'pass', 'pass', 'drop', 'drop'],
    )
  })

  test('a mark that others set before does not count as an allowance', () => {
    const { kernel } = start({ pods: [web], policies: [policyOf('x/deny', { ingress: [] })] })
    const ends = { source: ipOf('10.244.1.4'), destination: ipOf('10.244.0.2') }
    assert.equal(kernel.walk({ ...ends, ...tcp80, mark: 0x1_0000 }).verdict, 'drop')
    assert.equal(kernel.walk({ ...ends, ...tcp80, mark: 0x4000 }).verdict, 'drop')
  })

  test('marks of others go through unchanged', () => {
    const { kernel } = start({ pods: [web], policies: [policyOf('x/open', { ingress: [{}] })] })
    const ends = { source: ipOf('10.244.1.4'), destination: ipOf('10.244.0.2') }
    const { verdict, mark } = kernel.walk({ ...ends, ...tcp80, mark: 0x4000 })
    assert.deepEqual([verdict, mark], ['pass', 0x4000])
  })

  test('other settings write the static chains that differ, and the set of denied flows with them', () => {
    const { plan, kernel } = start({ pods: [web], policies: [webPolicy] })
    plan.configure({ ...settings, logsDenied: true })
    const on = plan.update(changes({}))
    assert.deepEqual([...(on.table?.set.keys() ?? [])].sort(), ['PLAT-NWE-DENY', 'PLAT-NWI-DENY'])
    assert.deepEqual([...on.sets.create.keys()], ['PLAT-NP-LOG4'])
    kernel.apply(on)
    plan.configure(settings)
    const off = plan.update(changes({}))
    assert.deepEqual(off.sets.destroy, ['PLAT-NP-LOG4'])
    kernel.apply(off)
  })

  test('labels of a namespace move its pods in and out of the sets that select namespaces', () => {
    const policy = policyOf('x/p', { ingress: [{ peers: [podsPeer({}, { team: 'red' })] }] })
    const peer = podOf('y/a', ['10.244.1.9'], { isLocal: false })
    const { passes, update } = start({ pods: [web, peer], policies: [policy], namespaces: { y: { team: 'blue' } } })
    assert.ok(!passes('10.244.1.9', '10.244.0.2'))
    assert.equal(update({ namespaces: { y: { team: 'red' } } }).table, undefined)
    assert.ok(passes('10.244.1.9', '10.244.0.2'))
    update({ namespaces: { y: {} } })
    assert.ok(!passes('10.244.1.9', '10.244.0.2'))
  })
})
