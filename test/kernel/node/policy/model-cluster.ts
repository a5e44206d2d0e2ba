import assert from 'node:assert/strict'
import type { Protocol } from '../../../../src/model/service.ts'
import { type NetnsLab, type TestNetns, withNetns } from '../../../helpers/netns.ts'
import { type Outcome, Prober, type Try } from './prober.ts'

export const nodeNames = ['node1', 'node2'] as const
export type NodeName = (typeof nodeNames)[number]

/** A namespace of the model and its addresses, IPv4 first of each pair. */
interface Place {
  readonly name: string
  readonly addresses: readonly string[]
}

/** Where pods are: x and y on the first node, z on the second, in the networks of test/helpers/policy-corners.ts. */
interface NodeLayout {
  readonly bridge: readonly string[]
  readonly podPrefixes: readonly [number, number]
  readonly podCidrs: readonly string[]
  readonly uplink: readonly string[]
  readonly places: readonly Place[]
}

const podsOf = (namespace: string, n: number): readonly Place[] =>
  ['a', 'b', 'c'].map((name, p) => ({
    name: `${namespace}/${name}`,
    addresses: [`10.244.${n}.${p + 1}`, n === 0 ? `fd00::${p + 1}` : `fd00:${n}::${p + 1}`],
  }))

/** Strangers are on the bridge of a node and are no pods. */
export const layout: Readonly<Record<NodeName, NodeLayout>> = {
  node1: {
    bridge: ['10.244.0.254', 'fd00::ff'],
    podPrefixes: [23, 31],
    podCidrs: ['10.244.0.0/23', 'fd00::/31'],
    uplink: ['203.0.113.1', '2001:db8:f::1'],
    places: [
      ...podsOf('x', 0),
      ...podsOf('y', 1),
      {
        name: 'stranger1',
        addresses: ['10.244.0.253', 'fd00::fd', '10.244.0.4', 'fd00::4', '10.244.1.4', 'fd00:1::4'],
      },
    ],
  },
  node2: {
    bridge: ['10.244.2.254', 'fd00:2::ff'],
    podPrefixes: [24, 32],
    podCidrs: ['10.244.2.0/24', 'fd00:2::/32'],
    uplink: ['203.0.113.2', '2001:db8:f::2'],
    places: [...podsOf('z', 2), { name: 'stranger2', addresses: ['10.244.2.4', 'fd00:2::4'] }],
  },
}

/** Outside of the cluster. */
const outside: Place = {
  name: 'outside',
  addresses: [
    ...['192.0.2.1', '192.0.2.200', '198.51.100.1', '10.9.9.9', '1.0.0.1', '255.255.255.254'],
    ...['10.1.1.5', '10.1.2.5', '10.2.2.5', '2001:db8::1', '2001:db8::1:1'],
  ],
}
const outsideUplink = ['203.0.113.254', '2001:db8:f::fe'] as const
/** Every node has them on its loopback. */
export const dnsAddresses = ['10.96.0.10', 'fd00:96::a'] as const

const isSix = (address: string): boolean => address.includes(':')
const prefixed = (address: string, [four, six]: readonly [number, number]): string =>
  `${address}/${isSix(address) ? six : four}`
const hostPrefixes = [32, 128] as const

/**
 * Two nodes with three pods in each of three namespaces, a stranger on each bridge and one host outside, every one a network namespace,
 * of both families. Pods of a node share a bridge, which shows what crosses it to iptables. Nothing leads out.
 */
export class ModelCluster {
  readonly nodes: Readonly<Record<NodeName, TestNetns>>
  readonly places: ReadonlyMap<string, TestNetns>
  readonly prober: Prober
  readonly #placeOf = new Map<string, string>()

  private constructor(places: ReadonlyMap<string, TestNetns>, prober: Prober) {
    const at = (name: string): TestNetns => places.get(name) ?? assert.fail(name)
    this.nodes = { node1: at('node1'), node2: at('node2') }
    this.places = places
    this.prober = prober
    for (const [node, { bridge, uplink, places: own }] of Object.entries(layout)) {
      for (const address of [...bridge, ...uplink]) this.#placeOf.set(address, node)
      for (const { name, addresses } of own) for (const address of addresses) this.#placeOf.set(address, name)
    }
    for (const address of outside.addresses) this.#placeOf.set(address, outside.name)
  }

  static async build(lab: NetnsLab): Promise<ModelCluster> {
    const names = [
      ...nodeNames,
      outside.name,
      ...nodeNames.flatMap((node) => layout[node].places.map(({ name }) => name)),
    ]
    const made = await Promise.all(names.map(async (name) => [name, await lab.create()] as const))
    const places = new Map(made)
    const at = (name: string): TestNetns => places.get(name) ?? assert.fail(name)
    await Promise.all(nodeNames.map((node) => settings(at(node), true)))
    await settings(at(outside.name), false)
    await ipBatch(at(outside.name), outsideLines(places))
    await Promise.all(nodeNames.map((node) => ipBatch(at(node), nodeLines(node, places))))
    const pods = nodeNames.flatMap((node) => layout[node].places.map((place) => ({ ...place, node })))
    await Promise.all(pods.map(({ name, addresses, node }) => ipBatch(at(name), podLines(addresses, node))))
    const prober = await Prober.start(new Map(made.map(([name, netns]) => [name, netns.name])))
    return new ModelCluster(places, prober)
  }

  /** The namespace that has an address. */
  placeOf(address: string): string {
    return this.#placeOf.get(address) ?? assert.fail(`no namespace has ${address}`)
  }

  /** The node that a pod is on. */
  nodeOf(pod: string): NodeName {
    return layout.node1.places.some(({ name }) => name === pod) ? 'node1' : 'node2'
  }

  /** Makes the tries from the namespaces that have their sources, to listeners that it makes. */
  probe(tries: readonly AddressedTry[]): Promise<readonly Outcome[]> {
    for (const { destination, protocol, port } of tries)
      this.prober.listen(this.placeOf(destination), protocol, destination, port)
    return this.prober.probe(tries.map((each) => ({ ...each, from: this.placeOf(each.source) })))
  }

  /** What an answer says of a try that no one translated. */
  answerTo({ source, destination, protocol }: Omit<AddressedTry, 'isWanted'>): Outcome {
    return protocol === 'other' ? 'echo' : `${this.placeOf(destination)} ${source}`
  }
}

export interface AddressedTry extends Omit<Try, 'from'> {
  readonly source: string
  readonly protocol: Protocol | 'other'
}

/** Makes the model and removes it, also when the body fails. */
export function withModelCluster(body: (model: ModelCluster) => Promise<void>): Promise<void> {
  return withNetns(async (lab) => {
    const model = await ModelCluster.build(lab)
    try {
      await body(model)
    } finally {
      await model.prober.stop()
    }
  })
}

/** No kind of message is limited and no source is doubted; bridges of a node show what crosses them to iptables. */
async function settings(netns: TestNetns, isNode: boolean): Promise<void> {
  const lines = [
    'net.ipv4.ip_forward=1',
    'net.ipv6.conf.all.forwarding=1',
    'net.ipv4.icmp_ratemask=0',
    'net.ipv6.icmp.ratemask=255',
    'net.ipv4.conf.all.send_redirects=0',
    'net.ipv4.conf.default.send_redirects=0',
    'net.ipv4.conf.all.rp_filter=0',
    'net.ipv4.conf.default.rp_filter=0',
    `net.bridge.bridge-nf-call-iptables=${isNode ? 1 : 0}`,
    `net.bridge.bridge-nf-call-ip6tables=${isNode ? 1 : 0}`,
  ]
  await netns.run('sysctl', ['-qw', ...lines], { timeoutMs: 10_000 })
}

/** The host outside is the switch between the nodes, too. */
function outsideLines(places: ReadonlyMap<string, TestNetns>): readonly string[] {
  return [
    'link add wan type bridge',
    'link set wan up',
    ...outsideUplink.map((address) => `address add ${prefixed(address, [24, 64])} dev wan ${nodad(address)}`),
    ...outside.addresses.map((address) => `address add ${prefixed(address, hostPrefixes)} dev lo ${nodad(address)}`),
    ...nodeNames.flatMap((node) => [
      `link add ${node} type veth peer name up0 netns ${places.get(node)?.name}`,
      `link set ${node} master wan up`,
      ...routesTo(node),
    ]),
  ]
}

function nodeLines(node: NodeName, places: ReadonlyMap<string, TestNetns>): readonly string[] {
  const { bridge, podPrefixes, uplink, places: own } = layout[node]
  const links = own.flatMap(({ name }, index) => [
    `link add veth${index} type veth peer name eth0 netns ${places.get(name)?.name}`,
    `link set veth${index} master cni0 up`,
    `link set veth${index} type bridge_slave hairpin on`,
  ])
  return [
    'link add cni0 type bridge',
    'link set cni0 up',
    'link set up0 up',
    ...bridge.map((address) => `address add ${prefixed(address, podPrefixes)} dev cni0 ${nodad(address)}`),
    ...uplink.map((address) => `address add ${prefixed(address, [24, 64])} dev up0 ${nodad(address)}`),
    ...dnsAddresses.map((address) => `address add ${prefixed(address, hostPrefixes)} dev lo ${nodad(address)}`),
    ...links,
    ...nodeNames.filter((other) => other !== node).flatMap(routesTo),
    ...outsideUplink.map((address) => `route add default via ${address}`),
  ]
}

function podLines(addresses: readonly string[], node: NodeName): readonly string[] {
  const { bridge, podPrefixes } = layout[node]
  return [
    'link set eth0 up',
    ...addresses.map((address) => `address add ${prefixed(address, podPrefixes)} dev eth0 ${nodad(address)}`),
    ...bridge.map((address) => `route add default via ${address}`),
  ]
}

function routesTo(node: NodeName): readonly string[] {
  const { podCidrs, uplink } = layout[node]
  return podCidrs.map((cidr, index) => `route add ${cidr} via ${uplink[index]}`)
}

const nodad = (address: string): string => (isSix(address) ? 'nodad' : '')

async function ipBatch(netns: TestNetns, lines: readonly string[]): Promise<void> {
  await netns.run('ip', ['-batch', '-'], { timeoutMs: 30_000, input: `${lines.join('\n')}\n` })
}
