import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Ip, IpFamily } from '../../../src/model/ip.ts'
import type { Protocol } from '../../../src/model/service.ts'
import { lowerToElements } from '../../../src/netfilter/nft/lower-elements.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import { traceElements } from '../../../src/netfilter/trace/trace-elements.ts'
import { tracePacket } from '../../../src/netfilter/trace/trace-packet.ts'
import type { TracedPacket, TraceOutcome } from '../../../src/netfilter/trace/types.ts'
import { planFrontends } from '../../../src/node/proxy/plan.ts'
import type { ServiceState } from '../../helpers/arbitrary-services.ts'
import { buildRuleset, worldOf } from '../../helpers/proxy-lab.ts'
import { cidr, ip, makeEndpoint, makePort, makeService, makeSlice } from '../../helpers/services.ts'

const runs = 150
const numbers = [1, 2, 3] as const
/** Ports of Services; the last one is also a node port, which counts where the address stands on this node. */
const servicePorts = [80, 53, 30001] as const
const protocols: readonly Protocol[] = ['TCP', 'UDP', 'SCTP']

/** A small world, where addresses meet. */
const places = {
  IPv4: {
    node: '192.0.2.1',
    clusterIp: (n: number) => `10.96.0.${n}`,
    external: (n: number) => `198.51.100.${n}`,
    vip: (n: number) => `198.51.101.${n}`,
    endpoint: (n: number) => `10.244.${n % 2}.${n}`,
    pods: '10.244.0.0/16',
    clients: ['203.0.113.2', '203.0.113.130', '10.244.9.9'],
    ranges: ['203.0.113.0/25', '203.0.113.0/24', '203.0.113.2/32', '0.0.0.0/0', '192.0.2.0/24', '10.244.0.0/15'],
    loopback: '127.0.0.1',
  },
  IPv6: {
    node: '2001:db8:1::1',
    clusterIp: (n: number) => `fd00:96::${n}`,
    external: (n: number) => `2001:db8:2::${n}`,
    vip: (n: number) => `2001:db8:3::${n}`,
    endpoint: (n: number) => `fd00:244:${n % 2}::${n}`,
    pods: 'fd00:244::/32',
    clients: ['2001:db8:9::2', '2001:db8:9:8000::2', 'fd00:244:9::9'],
    ranges: ['2001:db8:9::/49', '2001:db8:9::/48', '2001:db8:9::2/128', '::/0', '2001:db8:1::/64', 'fd00:244::/31'],
    loopback: '::1',
  },
} as const

const anyPolicy = fc.constantFrom('Cluster' as const, 'Local' as const)

function anyService(n: number, family: IpFamily): fc.Arbitrary<ServiceState> {
  const place = places[family]
  const ports = fc.uniqueArray(
    fc.record({
      port: fc.constantFrom(...servicePorts),
      protocol: fc.constantFrom(...protocols),
      isOpen: fc.boolean(),
    }),
    { maxLength: 3, selector: ({ port }) => port },
  )
  return fc
    .record({
      ports,
      isBalanced: fc.boolean(),
      isExternal: fc.boolean(),
      hasHealthPort: fc.boolean(),
      sourceRanges: fc.option(fc.subarray([...place.ranges]), { nil: undefined }),
      externalTrafficPolicy: anyPolicy,
      internalTrafficPolicy: anyPolicy,
      affinity: fc.constantFrom({}, { affinity: { timeoutSeconds: 60 } }, { affinity: { timeoutSeconds: 10800 } }),
      endpoints: fc.uniqueArray(
        fc.record({ n: fc.integer({ min: 1, max: 9 }), ready: fc.boolean(), serving: fc.boolean() }),
        {
          selector: (each) => each.n,
        },
      ),
    })
    .map((drawn) => {
      const named = drawn.ports.map(({ port, protocol, isOpen }) =>
        makePort(`p${port}`, protocol, port, isOpen ? 30000 + n + port : undefined),
      )
      const service = makeService(`default/s${n}`, place.clusterIp(n), {
        type: 'LoadBalancer',
        ports: named,
        externalIps: drawn.isExternal ? [ip(place.external(n))] : [],
        loadBalancerVips: drawn.isBalanced ? [ip(place.vip(n)), ip(place.vip(n + 10))] : [],
        ...(drawn.sourceRanges && { sourceRanges: drawn.sourceRanges.map(cidr) }),
        externalTrafficPolicy: drawn.externalTrafficPolicy,
        internalTrafficPolicy: drawn.internalTrafficPolicy,
        ...(drawn.hasHealthPort && { healthCheckNodePort: 32000 + n }),
        ...drawn.affinity,
      })
      const endpoints = drawn.endpoints.map((each) =>
        makeEndpoint(place.endpoint(each.n), {
          nodeName: each.n % 2 === 0 ? 'node-a' : 'node-b',
          ready: each.ready,
          ...(!each.ready && { terminating: true, serving: each.serving }),
        }),
      )
      const targets = named.map(({ name, protocol }) => [name, protocol, 8080] as const)
      return { service, slices: [makeSlice(service.key, targets, endpoints)] }
    })
}

function anySettings(family: IpFamily): fc.Arbitrary<ProxyRuleSettings> {
  const place = places[family]
  return fc
    .record({
      localTraffic: fc.constantFrom<ProxyRuleSettings['localTraffic']>(
        undefined,
        { kind: 'source', cidr: cidr(place.pods) },
        { kind: 'interface', name: 'cni0', isPrefix: false },
        { kind: 'interface', name: 'cn', isPrefix: true },
      ),
      masqueradeAll: fc.boolean(),
      nodeIps: fc.subarray([ip(place.node)]),
      nodePortAddresses: fc.option(fc.subarray([ip(place.node), ip(place.vip(1))]), { nil: undefined }),
      noLocalEndpoints: fc.constantFrom('drop' as const, 'reject' as const),
      dropInvalid: fc.boolean(),
      isHard: fc.boolean(),
    })
    .map(({ localTraffic, nodePortAddresses, isHard, ...drawn }) => ({
      family,
      ...drawn,
      ...(localTraffic && { localTraffic }),
      ...(nodePortAddresses && { nodePortAddresses }),
      affinity: { form: 'recent', isHard },
    }))
}

/** Addresses of this node: its own, and those of load balancers that stand on it. */
function ownAddresses(family: IpFamily): readonly string[] {
  const { node, vip, endpoint } = places[family]
  return [node, vip(1), vip(12), endpoint(4)]
}

function anyPacket(family: IpFamily): fc.Arbitrary<TracedPacket> {
  const place = places[family]
  const services = numbers.flatMap((n) => [place.clusterIp(n), place.external(n), place.vip(n), place.vip(n + 10)])
  const nodePorts = numbers.flatMap((n) => servicePorts.map((port) => 30000 + n + port))
  return fc.record({
    source: fc.constantFrom(...place.clients, place.node, place.vip(1), place.endpoint(1), place.endpoint(2)).map(ip),
    destination: fc.constantFrom(...services, place.node, place.node, place.loopback, place.endpoint(1)).map(ip),
    protocol: fc.constantFrom(...protocols),
    port: fc.constantFrom(...servicePorts, ...nodePorts, 32001, 8080),
    state: fc.constantFrom('NEW', 'NEW', 'NEW', 'NEW', 'ESTABLISHED', 'INVALID'),
    origin: fc.constantFrom('this-node', 'elsewhere', 'elsewhere'),
    inInterface: fc.constantFrom('cni0', 'eth0'),
  })
}

interface Way {
  readonly destination: Ip
  readonly protocol: Protocol
  readonly port: number
}

/** Each address with each port of the Services. */
function waysTo(states: readonly ServiceState[], family: IpFamily): readonly Way[] {
  return states.flatMap(({ service: { clusterIps, externalIps, loadBalancerVips, ports } }) =>
    ports.flatMap(({ port, nodePort, protocol }) => [
      ...[...clusterIps, ...externalIps, ...loadBalancerVips].map((destination) => ({ destination, protocol, port })),
      ...(nodePort === undefined
        ? []
        : ownAddresses(family).map((address) => ({ destination: ip(address), protocol, port: nodePort }))),
    ]),
  )
}

/** Every fate of the packet with its probability; outcomes that look alike are one. */
function summarise(outcomes: readonly TraceOutcome[]): Readonly<Record<string, number>> {
  const sums = new Map<string, number>()
  for (const { verdict, endpoint, masqueraded, goesTo, probability } of outcomes) {
    const fate = verdict === 'accept' ? `${JSON.stringify(endpoint)} ${masqueraded}` : verdict
    const key = `${fate} ${goesTo}`
    sums.set(key, (sums.get(key) ?? 0) + probability)
  }
  return Object.fromEntries([...sums].sort().map(([key, sum]) => [key, Math.round(sum * 1e6) / 1e6]))
}

for (const family of ['IPv4', 'IPv6'] as const) {
  test(`rules of iptables and elements of nftables make the same of any packet (${family})`, () => {
    let refused = 0
    let sent = 0
    const anyCluster = fc.tuple(...numbers.map((n) => anyService(n, family)))
    fc.assert(
      fc.property(
        anyCluster,
        anySettings(family),
        fc.array(fc.tuple(anyPacket(family), fc.nat()), { minLength: 40, maxLength: 40 }),
        (states, settings, packets) => {
          const world = worldOf(buildRuleset(states, settings), ownAddresses(family))
          const ways = waysTo(states, family)
          for (const [drawn, dice] of packets) {
            // Three of four go to a Service.
            const packet = dice % 4 === 0 ? drawn : { ...drawn, ...ways[dice % (ways.length || 1)] }
            const byRules = tracePacket(packet, world)
            assert.deepEqual(summarise(traceElements(packet, world)), summarise(byRules), JSON.stringify(packet))
            if (byRules.some(({ endpoint }) => endpoint)) sent += 1
            if (byRules.some(({ verdict }) => verdict !== 'accept')) refused += 1
          }
        },
      ),
      { numRuns: runs },
    )
    assert.ok(sent > 3 * runs && refused > runs, `${sent} packets met endpoints, ${refused} a refusal`)
  })
}

test('no key stands twice in one set of a Service, and elements do not depend on the order of endpoints', () => {
  fc.assert(
    fc.property(anyService(1, 'IPv4'), anySettings('IPv4'), ({ service, slices }, settings) => {
      const frontends = planFrontends(service, slices, { nodeName: 'node-a', family: 'IPv4' })
      const { elements } = lowerToElements(frontends, settings)
      assert.equal(new Set(elements.map(({ set, key }) => `${set} ${key}`)).size, elements.length)
      const turned = frontends.map((frontend) => ({
        ...frontend,
        clusterEndpoints: frontend.clusterEndpoints.toReversed(),
        localEndpoints: frontend.localEndpoints.toReversed(),
      }))
      const textsOf = (all: typeof elements) => all.map((each) => Object.values(each).join(' ')).sort()
      assert.deepEqual(textsOf(lowerToElements(turned, settings).elements), textsOf(elements))
    }),
  )
})
