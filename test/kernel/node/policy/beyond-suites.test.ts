import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyPod } from '../../../../src/model/network-policy.ts'
import type { PolicyRuleSettings } from '../../../../src/netfilter/policy/settings.ts'
import { ipOf } from '../../../helpers/addresses.ts'
import { skipReason } from '../../../helpers/netns.ts'
import { namedPort, podOf } from '../../../helpers/policy-cluster.ts'
import { cornerNamespaces, cornerPods, policiesOf } from '../../../helpers/policy-corners.ts'
import { checkEveryView, checkPackets, type Expected } from './flow-checks.ts'
import { dnsAddresses, type ModelCluster, withModelCluster } from './model-cluster.ts'
import { PolicyNodes } from './policy-nodes.ts'

/** What no public suite covers (section 3.6 of the reference), as far as one set of objects shows it. */
const skip = skipReason('iptables-nft', 'ip6tables-nft', 'ipset', 'perl')

const a = { podSelector: { matchLabels: { pod: 'a' } } }
const b = { podSelector: { matchLabels: { pod: 'b' } } }
const denyAll = { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }
const block = (cidr: string, ...except: string[]) => ({ ipBlock: { cidr, except } })

interface Situation extends Expected {
  readonly policies: Readonly<Record<string, object>>
  readonly pods?: readonly PolicyPod[]
}

const situations: readonly Situation[] = [
  {
    title: 'an exception of one ipBlock does not bite another that holds it',
    policies: {
      'x/in': { ...a, ingress: [{ from: [block('10.0.0.0/8', '10.1.2.0/24'), block('10.1.0.0/16')] }] },
      'x/out': {
        ...b,
        policyTypes: ['Egress'],
        egress: [{ to: [block('10.1.0.0/16'), block('10.0.0.0/8', '10.1.2.0/24')] }],
      },
    },
    allowed: [
      ...['10.1.2.5 > x/a TCP 80', '10.1.1.5 > x/a UDP 80', '10.2.2.5 > x/a TCP 80', 'x/b > x/a TCP 80'],
      ...['x/b > 10.1.2.5 TCP 80', 'x/b > 10.1.1.5 SCTP 80', 'x/b > 10.2.2.5 TCP 80'],
    ],
    denied: ['192.0.2.1 > x/a TCP 80', 'x/b > 192.0.2.1 TCP 80'],
  },
  {
    title: 'an exception alone bites, and one of two policies does not bite the other',
    policies: {
      'x/in': { ...a, ingress: [{ from: [block('10.0.0.0/8', '10.1.2.0/24', '10.2.0.0/16')] }] },
      'y/one': { ...a, ingress: [{ from: [block('10.0.0.0/8', '10.1.2.0/24', '10.2.0.0/16')] }] },
      'y/two': { ...a, ingress: [{ from: [block('10.1.2.0/25')], ports: [{ port: 81 }] }] },
    },
    allowed: ['10.1.1.5 > x/a TCP 80', '10.1.2.5 > y/a TCP 81', '10.1.1.5 > y/a TCP 80'],
    denied: ['10.1.2.5 > x/a TCP 80', '10.2.2.5 > x/a TCP 80', '10.1.2.5 > y/a TCP 80', '10.2.2.5 > y/a TCP 81'],
  },
  {
    title:
      'a pod of the host network is its node: never selected, let in by its own node, and elsewhere by the address of its node',
    policies: {
      'x/p': denyAll,
      'y/p': { ...a, ingress: [{ from: [block('203.0.113.2/32'), block('2001:db8:f::2/128')] }] },
      'z/p': denyAll,
    },
    allowed: [
      ...[
        '10.244.0.254 > x/a TCP 80',
        'fd00::ff > x/a/6 TCP 80',
        '203.0.113.1 > x/a UDP 80',
        '203.0.113.2 > z/a TCP 80',
      ],
      ...['203.0.113.2 > y/a TCP 80', '2001:db8:f::2 > y/a/6 SCTP 80'],
      ...['x/a > 10.244.0.254 TCP 10250', 'x/a > 203.0.113.1 UDP 10250', 'z/a > 203.0.113.2 TCP 10250'],
    ],
    denied: [
      ...['203.0.113.2 > x/a TCP 80', '203.0.113.1 > z/a TCP 80', '192.0.2.1 > y/a TCP 80', 'x/b > y/a TCP 80'],
      ...['x/a > 203.0.113.2 TCP 10250', 'z/a > 203.0.113.1 TCP 10250', 'z/a/6 > 2001:db8:f::1 TCP 10250'],
    ],
  },
  {
    title: 'a named port has the number of each pod, in both directions and over both nodes',
    policies: {
      'x/in': { podSelector: {}, ingress: [{ ports: [{ port: 'http' }] }] },
      'y/out': { podSelector: {}, policyTypes: ['Egress'], egress: [{ ports: [{ port: 'http' }] }] },
      'z/in': { podSelector: {}, ingress: [{ ports: [{ port: 'http' }] }] },
    },
    allowed: [
      ...['z/a > x/a TCP 80', 'z/a > x/b TCP 81', 'z/b > x/c TCP 82', 'y/a > x/b TCP 81', 'y/a > z/c TCP 82'],
      ...['y/b/6 > z/b/6 TCP 81', 'y/a > y/b TCP 81', 'x/a > z/b TCP 81'],
    ],
    denied: [
      ...['z/a > x/a TCP 81', 'z/a > x/b TCP 80', 'y/a > z/c TCP 80', 'y/a > y/b TCP 80', 'y/b/6 > z/b/6 TCP 80'],
      ...['y/a > 192.0.2.1 TCP 80', 'x/a > z/b TCP 82', 'y/a > x/a UDP 80'],
    ],
  },
  {
    title: 'a pod that is announced and not known yet reaches its node alone, and its node alone reaches it',
    policies: { 'x/p': { ...b, ingress: [{ from: [{ podSelector: {} }] }] } },
    pods: cornerPods.map((pod) => (pod.key === 'x/a' ? podOf('x/a', pod.ips, { labels: {}, isUnknown: true }) : pod)),
    allowed: ['10.244.0.254 > x/a TCP 80', 'x/a > 10.244.0.254 TCP 81', 'x/c > x/b TCP 80'],
    denied: [
      ...['x/a > x/b TCP 80', 'x/b > x/a TCP 80', 'x/a > 192.0.2.1 UDP 80', '192.0.2.1 > x/a TCP 80'],
      ...['z/a > x/a SCTP 80', 'x/a/6 > z/a/6 TCP 80', 'y/b/6 > x/a/6 other'],
    ],
  },
]

async function inModel(
  settings: Partial<PolicyRuleSettings>,
  body: (model: ModelCluster, nodes: PolicyNodes) => Promise<void>,
): Promise<void> {
  await withModelCluster(async (model) => {
    const nodes = await PolicyNodes.start(model, settings)
    await body(model, nodes)
    await nodes.stop()
  })
}

const objects = (policies: Situation['policies'], pods: readonly PolicyPod[] = cornerPods) => ({
  policies: policiesOf(policies),
  pods,
  namespaces: cornerNamespaces,
})

test('ipBlocks, host network, named ports and pods that are not known yet', { skip, timeout: 120_000 }, () =>
  inModel({}, async (model, nodes) => {
    for (const situation of situations) {
      await nodes.apply(objects(situation.policies, situation.pods))
      await checkEveryView(model, nodes, situation)
    }
    await nodes.apply(
      objects({ 'x/p': { ...a, policyTypes: ['Ingress', 'Egress'], ingress: [{ from: [b] }], egress: [] } }),
    )
    const onlyB = { allowed: ['x/b/6 > x/a/6 TCP 80', 'x/b > x/a TCP 80'], denied: ['x/c/6 > x/a/6 TCP 80'] }
    for (const pod of ['x/a', 'x/b', 'x/c'])
      await model.places.get(pod)?.exec('ip', '-6', 'neighbour', 'flush', 'dev', 'eth0')
    await checkPackets(model, { title: 'IPv6 neighbours are found again', ...onlyB })
    const closed = { from: 'x/b', protocol: 'UDP', port: 99, isWanted: true } as const
    const refusals = await model.prober.probe(
      ['10.244.0.1', 'fd00::1'].map((destination) => ({ ...closed, destination })),
    )
    assert.deepEqual(refusals, ['refused', 'refused'], 'the error that answers an allowed packet comes back')
  }),
)

test(
  "the cluster DNS that a node answers is reached as the kube-dns pods are, and the node's other addresses always",
  {
    skip,
    timeout: 120_000,
  },
  () =>
    inModel({ dnsAddresses: dnsAddresses.map(ipOf) }, async (model, nodes) => {
      const ports = [namedPort('dns', 53, 'UDP'), namedPort('dns-tcp', 53)]
      const dnsPod = podOf('kube-system/dns', dnsAddresses, { labels: { 'k8s-app': 'kube-dns' }, ports })
      for (const node of ['node1', 'node2'] as const)
        for (const address of dnsAddresses)
          for (const protocol of ['UDP', 'TCP'] as const) model.prober.listen(node, protocol, address, 53)
      const toDns = (peer: object, ...ports: object[]) => ({ ...denyAll, egress: [{ to: [peer], ports }] })
      const kubeDns = {
        namespaceSelector: { matchLabels: { system: 'yes' } },
        podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
      }
      await nodes.apply({
        ...objects({
          'x/dns': toDns(kubeDns, { port: 53, protocol: 'UDP' }),
          'y/other': toDns({ podSelector: {} }, { port: 53, protocol: 'UDP' }),
        }),
        pods: [...cornerPods, dnsPod],
        namespaces: { ...cornerNamespaces, 'kube-system': { system: 'yes' } },
      })
      const ask = async (from: string, protocol: 'UDP' | 'TCP', isWanted: boolean) => {
        const tries = dnsAddresses.map((destination) => ({ from, destination, protocol, port: 53, isWanted }))
        const outcomes = await model.prober.probe(tries)
        return outcomes.map((outcome) => outcome.split(' ')[0])
      }
      assert.deepEqual(await ask('x/a', 'UDP', true), ['node1', 'node1'])
      assert.deepEqual(await ask('x/a', 'TCP', false), ['-', '-'])
      assert.deepEqual(await ask('y/a', 'UDP', false), ['-', '-'])
      assert.deepEqual(await ask('z/a', 'UDP', true), ['node2', 'node2'])
      assert.deepEqual(await ask('node1', 'TCP', true), ['node1', 'node1'])
      await checkPackets(model, {
        title: 'other addresses of the node',
        allowed: ['y/a > 10.244.0.254 UDP 53', 'x/a > 203.0.113.1 TCP 80'],
        denied: ['x/a > 203.0.113.2 TCP 80'],
      })
    }),
)

test(
  "an address of a node's pods that no known pod has is isolated where that is asked for",
  {
    skip,
    timeout: 120_000,
  },
  () =>
    inModel({ isolatesUnknown: true }, async (model, nodes) => {
      await nodes.apply(objects({}))
      await checkPackets(model, {
        title: 'strangers',
        allowed: [
          'x/a > y/b TCP 80',
          'z/a/6 > x/b/6 TCP 80',
          '192.0.2.1 > x/a TCP 80',
          '10.244.0.254 > 10.244.0.253 TCP 80',
        ],
        denied: [
          ...['10.244.0.253 > x/a TCP 80', 'x/a > 10.244.0.253 TCP 80', '10.244.0.253 > 192.0.2.1 UDP 80'],
          ...['192.0.2.1 > 10.244.2.4 TCP 80', 'fd00:2::4 > x/a/6 TCP 80', 'z/a > 10.244.2.4 TCP 80'],
        ],
      })
    }),
)
