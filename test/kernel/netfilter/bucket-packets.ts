import assert from 'node:assert/strict'
import { type DispatchLimits, dispatchLimits } from '../../../src/netfilter/dispatch.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import type { ServiceState } from '../../helpers/arbitrary-services.ts'
import type { NetnsLab } from '../../helpers/netns.ts'
import { buildRuleset } from '../../helpers/proxy-lab.ts'
import { cidr, ip, makeEndpoint, makePort, makeService, makeSlice } from '../../helpers/services.ts'
import { PacketLab, places, type Sender } from './packet-lab.ts'

type Family = 'IPv4' | 'IPv6'

const patienceMs = 30_000
const nodePortOf = (n: number) => 30_000 + n
/** Above this a Service has no node port: there are not that many. */
const lastWithNodePort = 300
const boundVip = 5

export function settingsOf(family: Family): ProxyRuleSettings {
  return { family, localTraffic: { kind: 'source', cidr: cidr(places[family].podCidr) } }
}

/** The one endpoint of Service number n. */
export function endpointOf(n: number, family: Family): string {
  return places[family].local((n % 3) + 1)
}

/** Service number n with every kind of address, and one endpoint on this node. */
export function everyWay(n: number, family: Family): ServiceState {
  const place = places[family]
  const service = makeService(`default/s${n}`, place.clusterIp(n), {
    type: 'LoadBalancer',
    ports: [makePort('main', 'TCP', 80, n <= lastWithNodePort ? nodePortOf(n) : undefined)],
    ...(n <= 20 && { loadBalancerVips: [ip(place.vip(n))], externalIps: [ip(place.external(n))] }),
  })
  const endpoints = [makeEndpoint(endpointOf(n, family), { nodeName: 'node-a' })]
  return { service, slices: [makeSlice(service.key, [['main', 'TCP', 8080]], endpoints)] }
}

/** Two steps to a bucket; and three, as above 16,384 rules. */
export const bucketForms: readonly DispatchLimits[] = [
  dispatchLimits,
  { ...dispatchLimits, deepBuckets: { split: 290, join: 280 } },
]

/** Checks that every address of so many Services in buckets leads to its endpoint, in each form and in both families. */
export async function checkBuckets(
  netns: NetnsLab,
  flavour: 'nft' | 'legacy',
  services: number,
  forms: readonly DispatchLimits[],
): Promise<void> {
  const families = ['IPv4', 'IPv6'] as const
  const onLoopback = families.map((family) => `${places[family].vip(boundVip)}/${family === 'IPv4' ? 32 : 128}`)
  const lab = await PacketLab.build(netns, flavour, { nodePorts: [30_999], onLoopback })
  for (const [family, limits] of families.flatMap((each) => forms.map((form) => [each, form] as const))) {
    const states = Array.from({ length: services }, (_, index) => everyWay(index + 1, family))
    const ruleset = buildRuleset(states, settingsOf(family), limits).ruleset()
    assert.ok(ruleset.nat.has('PLAT-DST-00') && ruleset.nat.has('PLAT-PORT'), 'both shared chains are in buckets')
    assert.equal(ruleset.nat.has('PLAT-DST-000'), services > limits.deepBuckets.split)
    await lab.install(family, ruleset)
    for (const sender of ['pod', 'client', 'node'] as const) {
      const ways = waysIn(family, services).filter((each) => each[0] === sender)
      const answers = await lab.probe(
        sender,
        ways.map(([, source, destination, port]) => ({ source, destination, port, protocol: 'TCP', patienceMs })),
      )
      for (const [index, [, source, destination, port, answer]] of ways.entries())
        assert.ok(
          answers[index]?.startsWith(`${answer} `),
          `${source} to ${destination} ${port}: ${answers[index]}, not ${answer}`,
        )
    }
  }
}

type Way = readonly [sender: Sender, source: string, destination: string, port: number, answer: string]

/** Cluster IPs, node ports, external addresses and load balancers' addresses, one of which stands on the node; and addresses without endpoints. */
function waysIn(family: Family, services: number): readonly Way[] {
  const place = places[family]
  const to = (n: number) => `local ${endpointOf(n, family)}:8080`
  const numbers = [1, 15, 16, 17, 255, 256, 300, services]
  return [
    ...numbers.map((n): Way => ['pod', place.pod, place.clusterIp(n), 80, to(n)]),
    ['client', place.client, place.clusterIp(7), 80, to(7)],
    ['client', place.client, place.node, nodePortOf(1), to(1)],
    ['client', place.client, place.nodeToClient, nodePortOf(299), to(299)],
    ['pod', place.pod, place.node, nodePortOf(64), to(64)],
    ['node', place.node, place.node, nodePortOf(200), to(200)],
    ['client', place.client, place.vip(3), 80, to(3)],
    ['pod', place.pod, place.external(20), 80, to(20)],
    ['client', place.client, place.vip(boundVip), 80, to(boundVip)],
    ['node', place.vip(boundVip), place.vip(boundVip), 80, to(boundVip)],
    ['client', place.client, place.vip(boundVip), nodePortOf(9), to(9)],
    ['pod', place.pod, place.clusterIp(16), 81, 'sink'],
    ['client', place.client, place.node, 30_999, 'node'],
    ['client', place.client, place.vip(boundVip), 81, 'node'],
  ]
}
