import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type IpFamily, ipFamily } from '../../../../src/model/ip.ts'
import { emptyXorHash } from '../../../../src/model/xor-hash.ts'
import { proxyHooks } from '../../../../src/netfilter/hooks.ts'
import { detectIptables, Iptables, RulesWriter } from '../../../../src/node/rules/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'
import { cidrOf, ipOf } from '../../../helpers/addresses.ts'
import { skipReason, type TestNetns } from '../../../helpers/netns.ts'
import { cornerNamespaces, cornerPods, policiesOf } from '../../../helpers/policy-corners.ts'
import { buildRuleset } from '../../../helpers/proxy-lab.ts'
import { writeRuleset } from '../../../helpers/rulesets.ts'
import { makePort, makeService, makeSlice } from '../../../helpers/services.ts'
import { type AddressedTry, layout, type ModelCluster, nodeNames, withModelCluster } from './model-cluster.ts'
import { PolicyNodes } from './policy-nodes.ts'

const skip = skipReason('iptables-nft', 'ip6tables-nft', 'ipset', 'perl')
const families = ['IPv4', 'IPv6'] as const
const index = (family: IpFamily) => (family === 'IPv4' ? 0 : 1)
const hostPort = 8888
/** The pod behind the host port of each node. */
const hostPortPod = { node1: 'x/a', node2: 'z/a' } as const

/** Every pod has a Service of its own: port 8080 leads to its port 80, 8081 to 81, and node port 30001 and on to 80. */
const numberOf = (pod: string) => cornerPods.findIndex(({ key }) => key === pod) + 1
const vipOf = (pod: string, family: IpFamily) =>
  family === 'IPv4' ? `10.96.1.${numberOf(pod)}` : `fd00:96:1::${numberOf(pod)}`
const podAddress = (pod: string, family: IpFamily) =>
  cornerPods.find(({ key }) => key === pod)?.ips[index(family)] ?? assert.fail(pod)

async function installProxy(netns: TestNetns, family: IpFamily): Promise<void> {
  const states = cornerPods.map(({ key }) => {
    const ports = [makePort('main', 'TCP', 8080, 30_000 + numberOf(key)), makePort('other', 'TCP', 8081)]
    const service = makeService(key, vipOf(key, family), { type: 'NodePort', ports })
    const slicePorts = [
      ['main', 'TCP', 80],
      ['other', 'TCP', 81],
    ] as const
    return { service, slices: [makeSlice(key, slicePorts, [podAddress(key, family)])] }
  })
  const podNetwork = cidrOf(family === 'IPv4' ? '10.244.0.0/16' : 'fd00::/30')
  const ruleset = buildRuleset(states, { family, localTraffic: { kind: 'source', cidr: podNetwork } })
  const iptables = new Iptables(await detectIptables(netns.run, family, 'nft'), netns.run)
  const writer = new RulesWriter({ iptables, hooks: proxyHooks(), log: silentLogger })
  await writeRuleset(writer, ruleset.ruleset(), emptyXorHash, ruleset.sets())
}

/** A host port as the portmap plugin opens it. */
async function openHostPort(model: ModelCluster, node: (typeof nodeNames)[number], family: IpFamily): Promise<void> {
  const pod = podAddress(hostPortPod[node], family)
  const program = family === 'IPv4' ? 'iptables-nft' : 'ip6tables-nft'
  const to = family === 'IPv4' ? `${pod}:80` : `[${pod}]:80`
  const rule = `-t nat -A PREROUTING -p tcp -m addrtype --dst-type LOCAL --dport ${hostPort} -j DNAT --to ${to}`
  await model.nodes[node].exec(program, ...rule.split(' '))
}

/** Who sends, by the name of its namespace: a pod, a node, or `client` and `other client` outside. */
function sourceOf(name: string, family: IpFamily): string {
  const clients = { IPv4: ['192.0.2.1', '198.51.100.1'], IPv6: ['2001:db8::1', '2001:db8::1:1'] }[family]
  if (name === 'client' || name === 'other-client') return clients[name === 'client' ? 0 : 1] ?? assert.fail()
  if (name === 'node1' || name === 'node2') return layout[name].uplink[index(family)] ?? assert.fail()
  return podAddress(name, family)
}

interface Target {
  readonly destination: string
  readonly port: number
  readonly pod: string
  /** The port of the pod. */
  readonly podPort: number
  readonly via: 'vip' | 'node1' | 'node2'
}

/** `x/a:8080` is a Service, `node2:x/a` its node port on a node, `node1:host` the host port. */
function targetOf(text: string, family: IpFamily): Target {
  const [place = '', what = ''] = text.split(':')
  if (place !== 'node1' && place !== 'node2')
    return {
      destination: vipOf(place, family),
      port: Number(what),
      pod: place,
      podPort: Number(what) - 8000,
      via: 'vip',
    }
  const destination = layout[place].uplink[index(family)] ?? assert.fail()
  if (what === 'host') return { destination, port: hostPort, pod: hostPortPod[place], podPort: 80, via: place }
  return { destination, port: 30_000 + numberOf(what), pod: what, podPort: 80, via: place }
}

const nodeOf = (pod: string) => (pod.startsWith('z/') ? 'node2' : 'node1')

/** The source as the node of the pod sees it: what comes through a node port of the other node has that node's address. */
function judgedSource(source: string, target: Target, family: IpFamily): string {
  const isForwarded = target.via !== 'vip' && target.via !== nodeOf(target.pod)
  return isForwarded ? sourceOf(target.via, family) : sourceOf(source, family)
}

async function prepare(model: ModelCluster, family: IpFamily): Promise<void> {
  for (const { key } of cornerPods)
    for (const port of [80, 81]) model.prober.listen(key, 'TCP', podAddress(key, family), port)
  for (const node of nodeNames) {
    await installProxy(model.nodes[node], family)
    await openHostPort(model, node, family)
  }
}

interface ServiceCase {
  readonly title: string
  readonly policies: (family: IpFamily) => Readonly<Record<string, object>>
  readonly allowed: readonly string[]
  readonly denied?: readonly string[]
}

const a = { podSelector: { matchLabels: { pod: 'a' } } }
const b = { podSelector: { matchLabels: { pod: 'b' } } }
const host = (address: string) => ({ ipBlock: { cidr: `${address}/${ipFamily(ipOf(address)) === 'IPv4' ? 32 : 128}` } })
const inY = { namespaceSelector: { matchLabels: { ns: 'y' } } }
const egress = (...rules: object[]) => ({ ...a, policyTypes: ['Egress'], egress: rules })

const cases: readonly ServiceCase[] = [
  {
    title: 'without policies every address of a Service leads to its pod',
    policies: () => ({}),
    allowed: [
      ...['x/b > x/a:8080', 'x/a > x/a:8080', 'y/a > x/a:8081', 'z/a > x/a:8080', 'x/a > z/a:8080'],
      ...['client > node1:x/a', 'client > node2:x/a', 'client > node1:z/a', 'x/b > node1:x/a', 'z/b > node1:x/a'],
      ...['client > node1:host', 'z/a > node1:host', 'node1 > x/a:8080', 'node1 > z/a:8080'],
    ],
  },
  {
    title: 'a deny holds for every address of a Service; a pod reaches itself and its node reaches it',
    policies: () => ({ 'x/p': { ...a, policyTypes: ['Ingress'] } }),
    allowed: ['x/a > x/a:8080', 'node1 > x/a:8080', 'x/a > x/b:8080', 'client > node1:x/b'],
    denied: [
      ...['x/b > x/a:8080', 'y/a > x/a:8080', 'z/a > x/a:8080', 'x/b > node1:x/a', 'z/b > node1:x/a'],
      ...['client > node1:x/a', 'client > node2:x/a', 'client > node1:host', 'z/a > node1:host', 'node2 > x/a:8080'],
    ],
  },
  {
    title: 'a pod that may not send reaches itself through its Service, and no other',
    policies: () => ({ 'x/p': egress() }),
    allowed: ['x/a > x/a:8080', 'x/b > x/a:8080', 'client > node1:x/a', 'client > node1:host'],
    denied: ['x/a > x/b:8080', 'x/a > z/a:8080', 'x/a > node1:x/b', 'x/a > node2:z/a', 'x/a > node2:host'],
  },
  {
    title: "the port that is judged is the pod's, not the Service's",
    policies: () => ({
      'x/p': { ...a, ingress: [{ from: [b], ports: [{ port: 80 }] }] },
      'y/p': { ...a, ingress: [{ ports: [{ port: 8080 }] }] },
    }),
    allowed: ['x/b > x/a:8080'],
    denied: ['x/b > x/a:8081', 'x/c > x/a:8080', 'x/b > y/a:8080'],
  },
  {
    title: "egress is judged by the pod behind a Service, and the Service's network allows nothing",
    policies: (family) => ({
      'x/p': egress({ to: [inY] }),
      'y/p': egress({ to: [{ ipBlock: { cidr: family === 'IPv4' ? '10.96.0.0/16' : 'fd00:96::/32' } }] }),
    }),
    allowed: ['x/a > y/b:8080', 'x/a > node1:y/b'],
    denied: ['x/a > x/b:8080', 'x/a > z/b:8080', 'y/a > y/b:8080', 'y/a > x/b:8081'],
  },
  {
    title:
      'a client is seen with its own address at the node of the pod, and with that of another node behind its node port',
    policies: (family) => ({ 'x/p': { ...a, ingress: [{ from: [host(sourceOf('client', family))] }] } }),
    allowed: ['client > node1:x/a', 'client > node1:host'],
    denied: ['other-client > node1:x/a', 'client > node2:x/a', 'other-client > node1:host', 'x/b > node1:x/a'],
  },
  {
    title: 'the address of another node allows what comes through its node port',
    policies: (family) => ({ 'x/p': { ...a, ingress: [{ from: [host(sourceOf('node2', family))] }] } }),
    allowed: ['client > node2:x/a', 'other-client > node2:x/a', 'node2 > x/a:8080'],
    denied: ['client > node1:x/a', 'client > node1:host', 'z/b > x/a:8080'],
  },
  {
    title: 'a pod peer allows through Services and host ports on both nodes',
    policies: () => ({ 'x/p': { ...a, ingress: [{ from: [{ ...b, namespaceSelector: {} }] }] } }),
    allowed: ['x/b > x/a:8080', 'y/b > x/a:8081', 'z/b > x/a:8080', 'x/b > node1:x/a', 'y/b > node1:host'],
    denied: ['z/c > x/a:8080', 'y/a > node1:x/a', 'client > node1:x/a'],
  },
]

async function checkCase(
  model: ModelCluster,
  nodes: PolicyNodes,
  family: IpFamily,
  { title, allowed, denied = [] }: ServiceCase,
): Promise<void> {
  const judge = nodes.judge()
  const tries: readonly (AddressedTry & { text: string; target: Target })[] = [...allowed, ...denied].map((text) => {
    const [from = '', to = ''] = text.split(' > ')
    const target = targetOf(to, family)
    const isWanted = allowed.includes(text)
    const isJudged = judge({
      source: ipOf(judgedSource(from, target, family)),
      destination: ipOf(podAddress(target.pod, family)),
      protocol: 'TCP',
      port: target.podPort,
    })
    assert.equal(isJudged, isWanted, `${title}: ${text} by the evaluator in ${family}`)
    return { ...target, source: sourceOf(from, family), protocol: 'TCP', isWanted, text, target }
  })
  const outcomes = await model.prober.probe(tries.map((each) => ({ ...each, from: model.placeOf(each.source) })))
  for (const [n, { text, target, isWanted }] of tries.entries())
    assert.equal(outcomes[n]?.split(' ')[0], isWanted ? target.pod : '-', `${title}: ${text} in ${family}`)
}

test(
  "every address of a Service is judged as the pod behind it, with the proxy's rules in place",
  {
    skip,
    timeout: 120_000,
  },
  () =>
    withModelCluster(async (model) => {
      for (const family of families) await prepare(model, family)
      const nodes = await PolicyNodes.start(model)
      for (const each of cases) {
        for (const family of families) {
          const policies = policiesOf(each.policies(family))
          await nodes.apply({ policies, pods: cornerPods, namespaces: cornerNamespaces })
          await checkCase(model, nodes, family, each)
        }
      }
      await nodes.stop()
    }),
)
