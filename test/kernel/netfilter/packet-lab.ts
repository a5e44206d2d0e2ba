import assert from 'node:assert/strict'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { IpFamily } from '../../../src/model/ip.ts'
import { proxyHooks } from '../../../src/netfilter/hooks.ts'
import type { ElementRuleset } from '../../../src/netfilter/nft/element-ruleset.ts'
import { renderChange } from '../../../src/netfilter/nft/render-change.ts'
import { renderRule } from '../../../src/netfilter/render.ts'
import type { Ruleset, TableChange } from '../../../src/netfilter/ruleset.ts'
import { type AddressSets, planSets } from '../../../src/netfilter/sets.ts'
import { batchSizes, splitChange } from '../../../src/node/rules/batches.ts'
import type { NetnsLab, TestNetns } from '../../helpers/netns.ts'
import { renderRestore } from '../../helpers/rulesets.ts'
import type { Probe } from './probe.program.ts'

/** Who may send: a pod of this node, a client outside, an endpoint on this node, and the node itself. */
export type Sender = 'pod' | 'client' | 'endpoint' | 'node'

/** The same places in each family. */
export const places = {
  IPv4: {
    pod: '10.244.10.5',
    client: '203.0.113.2',
    otherClient: '203.0.113.130',
    node: '192.0.2.1',
    nodeToClient: '203.0.113.254',
    podCidr: '10.244.0.0/16',
    range: '203.0.113.0/25',
    nodeRange: '192.0.2.0/24',
    local: (n: number) => `10.244.0.${n}`,
    remote: (n: number) => `10.244.1.${n}`,
    clusterIp: (n: number) => `10.96.${n >> 8}.${n & 255}`,
    vip: (n: number) => `198.51.100.${n}`,
    external: (n: number) => `198.18.0.${n}`,
  },
  IPv6: {
    pod: 'fd00:244:10::5',
    client: '2001:db8:c::2',
    otherClient: '2001:db8:c:0:8000::2',
    node: '2001:db8:2::1',
    nodeToClient: '2001:db8:c::ff',
    podCidr: 'fd00:244::/32',
    range: '2001:db8:c::/65',
    nodeRange: '2001:db8:2::/64',
    local: (n: number) => `fd00:244:0:1::${n}`,
    remote: (n: number) => `fd00:244:1::${n}`,
    clusterIp: (n: number) => `fd00:96::${n.toString(16)}`,
    vip: (n: number) => `2001:db8:3::${n.toString(16)}`,
    external: (n: number) => `2001:db8:4::${n.toString(16)}`,
  },
} as const

/** Many more sources of the client: any address of this network. */
export const manyClients = (n: number): string => `100.64.${n >> 8}.${n & 255}`

/** Of each of the two places where endpoints are. */
export const endpointsPerNode = 3
export const endpointPort = 8080

/** Every address of the node's links, for the tracer. */
export const nodeAddresses = [
  '10.244.10.254',
  '10.244.0.254',
  '10.244.1.254',
  '203.0.113.254',
  '192.0.2.1',
  'fd00:244:10::ff',
  'fd00:244:0:1::ff',
  'fd00:244:1::ff',
  '2001:db8:c::ff',
  '2001:db8:2::1',
]

interface Place {
  /** The node's end of the link. */
  readonly link: string
  readonly nodeAddresses: readonly string[]
  readonly addresses: readonly string[]
}

const endpointAddresses = (kind: 'local' | 'remote'): string[] =>
  [1, 2, 3].flatMap((n) => [`${places.IPv4[kind](n)}/24`, `${places.IPv6[kind](n)}/64`])

const layout = {
  pod: {
    link: 'cni0',
    nodeAddresses: ['10.244.10.254/24', 'fd00:244:10::ff/64'],
    addresses: ['10.244.10.5/24', 'fd00:244:10::5/64'],
  },
  local: {
    link: 'cni1',
    nodeAddresses: ['10.244.0.254/24', 'fd00:244:0:1::ff/64'],
    addresses: endpointAddresses('local'),
  },
  remote: {
    link: 'far0',
    nodeAddresses: ['10.244.1.254/24', 'fd00:244:1::ff/64'],
    addresses: endpointAddresses('remote'),
  },
  client: {
    link: 'ext0',
    nodeAddresses: ['203.0.113.254/24', '2001:db8:c::ff/64'],
    addresses: ['203.0.113.2/24', '203.0.113.130/24', '2001:db8:c::2/64', '2001:db8:c:0:8000::2/64'],
  },
  sink: {
    link: 'out0',
    nodeAddresses: ['192.0.2.1/24', '2001:db8:2::1/64'],
    addresses: ['192.0.2.254/24', '2001:db8:2::fe/64'],
  },
} as const satisfies Readonly<Record<string, Place>>

const sinkNetworks = [
  '10.96.0.0/16',
  '198.51.100.0/24',
  '198.18.0.0/24',
  'fd00:96::/64',
  '2001:db8:3::/64',
  '2001:db8:4::/64',
]

/**
 * A node between a pod, a client, endpoints on it and on another node, and a sink: there every Service address answers that
 * arrives untranslated. Each place is a namespace; nothing leads out.
 */
export class PacketLab {
  readonly node: TestNetns
  readonly #senders: Readonly<Record<Sender, TestNetns>>
  readonly #flavour: 'nft' | 'legacy'
  readonly #probers = new Map<Sender, Promise<Prober>>()

  private constructor(node: TestNetns, senders: Record<Sender, TestNetns>, flavour: 'nft' | 'legacy') {
    this.node = node
    this.#senders = senders
    this.#flavour = flavour
  }

  /** @param nodePorts where a program on the node answers that no rule should lead to */
  static async build(
    lab: NetnsLab,
    flavour: 'nft' | 'legacy',
    options: { readonly nodePorts: readonly number[]; readonly onLoopback: readonly string[] },
  ): Promise<PacketLab> {
    const node = await lab.create()
    await sysctl(node, [
      'net.ipv4.ip_forward=1',
      'net.ipv6.conf.all.forwarding=1',
      // No kind of message is limited, the whole machine's limit included: a refusal that is left out costs its client a second.
      'net.ipv4.icmp_ratemask=0',
      'net.ipv6.icmp.ratemask=255',
      'net.ipv4.icmp_ratelimit=0',
      'net.ipv6.icmp.ratelimit=0',
      'net.ipv4.conf.all.send_redirects=0',
      'net.ipv4.conf.default.send_redirects=0',
      'net.ipv4.conf.all.rp_filter=0',
      'net.ipv4.conf.default.rp_filter=0',
    ])
    const names = ['pod', 'local', 'remote', 'client', 'sink'] as const
    const netns = Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await connectPlace(lab, node, layout[name])] as const)),
    )
    const at = (name: (typeof names)[number]): TestNetns => netns[name] ?? assert.fail()
    await ipBatch(node, [
      'route add default via 192.0.2.254',
      '-6 route add default via 2001:db8:2::fe',
      ...options.onLoopback.map((ip) => `address add ${ip} dev lo${ip.includes(':') ? ' nodad' : ''}`),
    ])
    await ipBatch(
      at('sink'),
      sinkNetworks.map((network) => `${network.includes(':') ? '-6 ' : ''}route add local ${network} dev lo`),
    )
    await ipBatch(node, ['route add 100.64.0.0/16 via 203.0.113.2'])
    await ipBatch(at('client'), ['route add local 100.64.0.0/16 dev lo'])
    const udp = (kind: 'local' | 'remote') =>
      endpointAddresses(kind).map((address): [string, number] => [address.slice(0, address.indexOf('/')), endpointPort])
    await Promise.all([
      answer(at('local'), 'local', { tcp: [endpointPort], udp: udp('local') }),
      answer(at('remote'), 'remote', { tcp: [endpointPort], udp: udp('remote') }),
      answer(at('sink'), 'sink', { tcp: [80, 81, ...options.nodePorts] }),
      answer(node, 'node', { tcp: [80, 81, ...options.nodePorts] }),
    ])
    return new PacketLab(node, { pod: at('pod'), client: at('client'), endpoint: at('local'), node }, flavour)
  }

  /** Puts the rules and sets of one family in the place of all there are, hooks included, and forgets every connection. */
  async install(family: IpFamily, ruleset: Ruleset, sets: AddressSets = new Map()): Promise<void> {
    const changes = (['filter', 'nat'] as const).map((table) =>
      splitChange(
        { table, set: ruleset[table], remove: [] },
        () => undefined,
        batchSizes[this.#flavour].linesPerCommit,
      ),
    )
    const tables = (['nat', 'filter'] as const).map((table) => {
      const hooks = proxyHooks().filter((hook) => hook.table === table)
      return [`*${table}`, ...hooks.map(({ builtin, rule }) => renderRule(builtin, rule, family)), 'COMMIT', ''].join(
        '\n',
      )
    })
    await this.clear()
    await this.node.run('ipset', ['restore'], { timeoutMs: 30_000, input: planSets(sets, new Map()).before })
    for (const slice of changes.flatMap(({ before }) => before)) await this.commit(family, slice)
    const rest = changes.map(({ main }) => main)
    await this.#iptables(family, '-restore', renderRestore(rest, family) + tables.join(''), '--noflush')
    await this.forgetConnections()
  }

  /** Puts the table of maps of one family in the place of all there are, and forgets every connection. */
  async installElements(elements: ElementRuleset): Promise<void> {
    const { table } = elements
    const change = { service: undefined, remove: [], add: [...elements.all()] }
    await this.nft(`flush ruleset\n${table.text}${renderChange(table, [change])}`)
    await this.forgetConnections()
  }

  /** One transaction. */
  async nft(input: string): Promise<void> {
    await this.node.run('nft', ['-f', '-'], { timeoutMs: 30_000, input })
  }

  /** Removes every rule, chain and set of both families. */
  async clear(): Promise<void> {
    for (const each of ['IPv4', 'IPv6'] as const)
      await this.#iptables(each, '-restore', '*filter\nCOMMIT\n*nat\nCOMMIT\n')
    await this.node.run('ipset', ['destroy'], { timeoutMs: 30_000 })
  }

  /** One commit, on top of what stands. */
  async commit(family: IpFamily, change: TableChange): Promise<void> {
    await this.#iptables(family, '-restore', renderRestore([change], family), '--noflush')
  }

  async forgetConnections(): Promise<void> {
    for (const family of ['ipv4', 'ipv6']) await this.node.run('conntrack', ['-F', '-f', family], { timeoutMs: 30_000 })
  }

  netnsOf(sender: Sender): TestNetns {
    return this.#senders[sender]
  }

  /** Results in the order of the probes; see probe.program.ts. */
  async probe(sender: Sender, probes: readonly Probe[]): Promise<readonly string[]> {
    const prober = this.#probers.get(sender) ?? startProber(this.#senders[sender])
    this.#probers.set(sender, prober)
    const answers = await (await prober)(JSON.stringify(probes))
    return (JSON.parse(answers) as string[]).map(describeAnswer)
  }

  async #iptables(family: IpFamily, suffix: string, input: string, ...args: string[]): Promise<void> {
    const program = `${family === 'IPv4' ? 'iptables' : 'ip6tables'}-${this.#flavour}${suffix}`
    await this.node.run(program, ['--wait', '30', ...args], { timeoutMs: 60_000, input })
  }
}

/** Asks a program that stays: starting one takes longer than a hundred probes. One question at a time. */
type Prober = (question: string) => Promise<string>

async function startProber(netns: TestNetns): Promise<Prober> {
  const program = await netns.start(process.execPath, [programPath('probe')], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const answers = createInterface({ input: program.stdout ?? assert.fail() })[Symbol.asyncIterator]()
  return async (question) => {
    program.stdin?.write(`${question}\n`)
    const { value, done } = await answers.next()
    if (done) assert.fail('the program that probes has ended')
    return value
  }
}

/** `local 10.244.0.1:8080 seen from 203.0.113.2`, or the word there was instead of an answer. */
function describeAnswer(result: string): string {
  if (!result.startsWith('{')) return result
  const { name, address, port, source } = JSON.parse(result) as Record<string, string>
  return `${name} ${address}:${port} seen from ${source}`
}

async function connectPlace(lab: NetnsLab, node: TestNetns, place: Place): Promise<TestNetns> {
  const netns = await lab.create()
  await sysctl(netns, [
    'net.ipv4.icmp_ratemask=0',
    'net.ipv6.icmp.ratemask=255',
    'net.ipv6.icmp.ratelimit=0',
    'net.ipv4.conf.all.rp_filter=0',
    'net.ipv4.conf.default.rp_filter=0',
    'net.ipv4.ip_local_port_range=1024 65535',
  ])
  await ipBatch(node, [
    `link add ${place.link} type veth peer name eth0 netns ${netns.name}`,
    `link set ${place.link} up`,
  ])
  await ipBatch(netns, ['link set eth0 up', ...place.addresses.map((address) => addressOn('eth0', address))])
  await ipBatch(
    node,
    place.nodeAddresses.map((address) => addressOn(place.link, address)),
  )
  const gateways = place.nodeAddresses.map((address) => address.slice(0, address.indexOf('/')))
  await ipBatch(
    netns,
    gateways.map((via) => `${via.includes(':') ? '-6 ' : ''}route add default via ${via}`),
  )
  return netns
}

function addressOn(link: string, address: string): string {
  return `address add ${address} dev ${link}${address.includes(':') ? ' nodad' : ''}`
}

/** One `ip` for each line: a batch has one family. */
async function ipBatch(netns: TestNetns, lines: readonly string[]): Promise<void> {
  for (const family of ['-4', '-6']) {
    const chosen = lines.filter(
      (line) => (line.startsWith('-6 ') || / [0-9a-f:]*:[0-9a-f:]*\S* dev /.test(line) ? '-6' : '-4') === family,
    )
    const input = chosen.map((line) => `${line.replace('-6 ', '')}\n`).join('')
    if (input !== '') await netns.run('ip', [family, '-batch', '-'], { timeoutMs: 30_000, input })
  }
}

async function sysctl(netns: TestNetns, settings: readonly string[]): Promise<void> {
  await netns.run('sysctl', ['-qw', ...settings], { timeoutMs: 10_000 })
}

async function answer(
  netns: TestNetns,
  name: string,
  listeners: { readonly tcp: readonly number[]; readonly udp?: readonly [string, number][] },
): Promise<void> {
  const args = [programPath('answer'), name, JSON.stringify(listeners)]
  const program = await netns.start(process.execPath, args, { stdout: 'pipe', stderr: 'inherit' })
  for await (const line of createInterface({ input: program.stdout ?? assert.fail() })) if (line === 'ready') return
  assert.fail(`the program that answers for ${name} ended before it listened`)
}

function programPath(name: string): string {
  return fileURLToPath(new URL(`./${name}.program.ts`, import.meta.url))
}
