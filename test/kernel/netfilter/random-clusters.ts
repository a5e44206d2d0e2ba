import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { IpFamily } from '../../../src/model/ip.ts'
import type { Protocol } from '../../../src/model/service.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { traceElements } from '../../../src/netfilter/trace/trace-elements.ts'
import { tracePacket } from '../../../src/netfilter/trace/trace-packet.ts'
import type { TracedPacket, TraceOutcome } from '../../../src/netfilter/trace/types.ts'
import type { ServiceState } from '../../helpers/arbitrary-services.ts'
import type { NetnsLab } from '../../helpers/netns.ts'
import { buildRuleset, worldOf } from '../../helpers/proxy-lab.ts'
import { cidr, ip, makeEndpoint, makePort, makeService, makeSlice } from '../../helpers/services.ts'
import { endpointPort, endpointsPerNode, nodeAddresses, PacketLab, places, type Sender } from './packet-lab.ts'
import type { Probe } from './probe.program.ts'

const packetsPerService = 4
const nodePortOf = (n: number) => 30_000 + n
const unusedNodePort = 30_999
/** Load balancers' addresses that stand on the node. */
const bound = (n: number) => n % 5 === 0

/** The settings of a cluster. */
const kinds: readonly ((family: IpFamily) => Omit<ProxyRuleSettings, 'family'>)[] = [
  (family) => ({ localTraffic: { kind: 'source', cidr: cidr(places[family].podCidr) } }),
  () => ({ localTraffic: { kind: 'interface', name: 'cni', isPrefix: true }, noLocalEndpoints: 'reject' }),
  () => ({
    localTraffic: { kind: 'interface', name: 'cni0', isPrefix: false },
    affinity: { form: 'ipset', isHard: false },
  }),
  (family) => ({ masqueradeAll: true, masqueradeBit: 3, nodePortAddresses: [ip(places[family].node)] }),
  () => ({ randomFully: false, affinity: { form: 'recent', isHard: true } }),
]

const anyConditions = fc.constantFrom(
  {},
  {},
  { ready: false },
  { ready: false, terminating: true },
  { ready: false, serving: false, terminating: true },
)
const anyPolicy = fc.constantFrom('Cluster' as const, 'Local' as const)

function anyService(n: number, family: IpFamily): fc.Arbitrary<ServiceState> {
  const place = places[family]
  const allEndpoints = Array.from({ length: endpointsPerNode }, (_, index) => [
    [place.local(index + 1), 'node-a'] as const,
    [place.remote(index + 1), 'node-b'] as const,
  ]).flat()
  return fc
    .record({
      protocol: fc.constantFrom<Protocol>('TCP', 'TCP', 'UDP'),
      hasNodePort: fc.boolean(),
      hasVip: fc.boolean(),
      hasExternal: fc.boolean(),
      sourceRanges: fc.constantFrom(undefined, undefined, [], [place.range], [place.range, place.nodeRange]),
      externalTrafficPolicy: anyPolicy,
      internalTrafficPolicy: anyPolicy,
      affinity: fc.constantFrom({}, {}, { affinity: { timeoutSeconds: 60 } }),
      endpoints: fc.subarray(allEndpoints),
      conditions: fc.array(anyConditions, { minLength: 2 * endpointsPerNode, maxLength: 2 * endpointsPerNode }),
    })
    .map((drawn) => {
      const service = makeService(`default/s${n}`, place.clusterIp(n), {
        type: 'LoadBalancer',
        ports: [makePort('main', drawn.protocol, 80, drawn.hasNodePort ? nodePortOf(n) : undefined)],
        loadBalancerVips: drawn.hasVip ? [ip(place.vip(n))] : [],
        externalIps: drawn.hasExternal ? [ip(place.external(n))] : [],
        ...(drawn.sourceRanges && { sourceRanges: drawn.sourceRanges.map(cidr) }),
        externalTrafficPolicy: drawn.externalTrafficPolicy,
        internalTrafficPolicy: drawn.internalTrafficPolicy,
        ...drawn.affinity,
      })
      const endpoints = drawn.endpoints.map(([address, nodeName], index) =>
        makeEndpoint(address, { nodeName, ...drawn.conditions[index] }),
      )
      return { service, slices: [makeSlice(service.key, [['main', drawn.protocol, endpointPort]], endpoints)] }
    })
}

interface Shot {
  readonly sender: Sender
  readonly packet: TracedPacket
}

/** Packets to one Service by any of its ways, and by ways that it does not have. */
function anyShot(n: number, { service }: ServiceState, family: IpFamily): fc.Arbitrary<Shot> {
  const place = places[family]
  const protocol = service.ports[0]?.protocol ?? 'TCP'
  const sources: readonly (readonly [Sender, string])[] = [
    ['pod', place.pod],
    ['client', place.client],
    ['client', place.otherClient],
    ['node', place.node],
  ]
  const targets: readonly (readonly [string, number])[] = [
    [place.clusterIp(n), 80],
    [place.clusterIp(n), 81],
    [place.vip(n), 80],
    [place.external(n), 80],
    [place.node, nodePortOf(n)],
    [place.nodeToClient, nodePortOf(n)],
    [place.node, unusedNodePort],
    ...(bound(n) ? ([[place.vip(n), nodePortOf(n)]] as const) : []),
  ]
  const toItself: readonly Way[] = bound(n) ? [['node', place.vip(n), place.vip(n), 80]] : []
  const ways = sources.flatMap(([sender, source]) => targets.map(([to, port]): Way => [sender, source, to, port]))
  return fc.constantFrom(...ways, ...toItself, ...toItself).map(([sender, source, to, port]) => ({
    sender,
    packet: {
      source: ip(source),
      destination: ip(to),
      protocol,
      port,
      state: 'NEW',
      origin: sender === 'node' ? 'this-node' : 'elsewhere',
      ...(sender === 'pod' && { inInterface: 'cni0' }),
      ...(sender === 'client' && { inInterface: 'ext0' }),
    },
  }))
}

type Way = readonly [sender: Sender, source: string, destination: string, port: number]

export interface RandomClusters {
  /** Half of them in each family. */
  readonly clusters: number
  readonly servicesPerCluster: number
}

/** Random Services under ever other settings: what becomes of real packets is what the tracer says, and where it names endpoints, one of those. */
export async function checkRandomClusters(
  netns: NetnsLab,
  mode: 'nft' | 'legacy' | 'nftables',
  { clusters, servicesPerCluster }: RandomClusters,
): Promise<void> {
  const numbers = Array.from({ length: servicesPerCluster }, (_, index) => index + 1)
  const families = ['IPv4', 'IPv6'] as const
  const onLoopback = families.flatMap((family) =>
    numbers.filter(bound).map((n) => `${places[family].vip(n)}/${family === 'IPv4' ? 32 : 128}`),
  )
  const nodePorts = [...numbers.map(nodePortOf), unusedNodePort]
  const lab = await PacketLab.build(netns, mode === 'legacy' ? 'legacy' : 'nft', { nodePorts, onLoopback })
  const local = [...nodeAddresses, ...onLoopback.map((each) => each.slice(0, each.indexOf('/')))]
  for (let seed = 0; seed < clusters / 2; seed += 1) {
    for (const family of families) {
      const settings = { family, nodeIps: [ip(places[family].node)], ...kinds[seed % kinds.length]?.(family) }
      const states = numbers.map((n) => sampleOne(anyService(n, family), seed * 1000 + n))
      const ruleset = buildRuleset(states, settings)
      if (mode === 'nftables') await lab.installElements(ruleset.elements)
      else await lab.install(family, ruleset.ruleset(), ruleset.sets())
      const shots = states.flatMap((state, index) =>
        fc.sample(anyShot(index + 1, state, family), { numRuns: packetsPerService, seed: seed * 1000 + index }),
      )
      const world = worldOf(ruleset, local)
      const trace = (packet: TracedPacket) =>
        mode === 'nftables' ? traceElements(packet, world) : tracePacket(packet, world)
      await checkShots(lab, shots, trace)
    }
  }
}

function sampleOne<Value>(arbitrary: fc.Arbitrary<Value>, seed: number): Value {
  const [value] = fc.sample(arbitrary, { numRuns: 1, seed })
  return value ?? assert.fail()
}

type Trace = (packet: TracedPacket) => readonly TraceOutcome[]

async function checkShots(lab: PacketLab, all: readonly Shot[], trace: Trace): Promise<void> {
  const shots = all
    .map((shot) => ({ ...shot, allowed: expected(shot.packet, trace) }))
    // Only connections find the sink and the node's own program.
    .filter(({ packet, allowed }) => packet.protocol === 'TCP' || !allowed.some((each) => each.startsWith('untouched')))
  const senders = ['pod', 'client', 'node'] as const
  await Promise.all(
    senders.map(async (sender) => {
      const mine = shots.filter((shot) => shot.sender === sender)
      const results = await lab.probe(sender, mine.map(toProbe))
      for (const [index, { packet, allowed }] of mine.entries()) {
        const found = summarise(results[index] ?? '', packet)
        assert.ok(
          allowed.includes(found),
          `${sender} ${JSON.stringify(packet)}: ${results[index]} is none of ${allowed}`,
        )
      }
    }),
  )
}

/** Where silence is expected a short wait will do: an answer that comes later is not seen, one that never comes is not waited for. */
function toProbe({ packet, allowed }: { readonly packet: TracedPacket; readonly allowed: readonly string[] }): Probe {
  const { source, destination, port } = packet
  const patienceMs = allowed.includes('silence') ? 250 : 30_000
  return { source, destination, port, protocol: packet.protocol === 'UDP' ? 'UDP' : 'TCP', patienceMs }
}

/** What may be seen of a packet: `10.244.0.1:8080`, with ` masqueraded`, `refused`, `silence`, or `untouched` and who answers then. */
function expected(packet: TracedPacket, trace: Trace): readonly string[] {
  return [...new Set(trace(packet).map((outcome) => describeOutcome(outcome)))]
}

function describeOutcome({ verdict, endpoint, masqueraded, goesTo }: TraceOutcome): string {
  if (verdict === 'drop') return 'silence'
  if (verdict === 'reject') return 'refused'
  if (endpoint === undefined) return `untouched ${goesTo === 'this-node' ? 'node' : 'sink'}`
  return `${endpoint.address}:${endpoint.port}${masqueraded ? ' masqueraded' : ''}`
}

function summarise(result: string, packet: TracedPacket): string {
  const [, name, reached, source] = /^(\w+) (\S+) seen from (\S+)$/.exec(result) ?? []
  if (name === undefined) return result
  if (name === 'node' || name === 'sink') return `untouched ${name}`
  return `${reached}${source === packet.source ? '' : ' masqueraded'}`
}
