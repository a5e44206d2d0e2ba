import type { IpFamily } from '../../../src/model/ip.ts'
import type { Protocol, Service } from '../../../src/model/service.ts'
import type { ProxyRuleSettings } from '../../../src/netfilter/settings.ts'
import type { ServiceState } from '../../helpers/arbitrary-services.ts'
import { cidr, ip, makeEndpoint, makePort, makeService, makeSlice } from '../../helpers/services.ts'
import { endpointPort, places } from './packet-lab.ts'

export function settingsOf(family: IpFamily): ProxyRuleSettings {
  return {
    family,
    localTraffic: { kind: 'source', cidr: cidr(places[family].podCidr) },
    nodeIps: [ip(places[family].node)],
  }
}

/** A Service with endpoints on this node and on another. */
export function stateOf(
  n: number,
  family: IpFamily,
  hosts: readonly string[],
  more: Partial<Service> = {},
): ServiceState {
  const service = makeService(`default/s${n}`, places[family].clusterIp(n), more)
  const targets = service.ports.map(({ name, protocol }) => [name, protocol, endpointPort] as const)
  const endpoints = hosts.map((address) =>
    makeEndpoint(address, { nodeName: isLocal(address, family) ? 'node-a' : 'node-b' }),
  )
  return { service, slices: [makeSlice(service.key, targets, endpoints)] }
}

function isLocal(address: string, family: IpFamily): boolean {
  return [1, 2, 3].some((n) => places[family].local(n) === address)
}

/** One Service of each kind with a name for people. */
export function everyKind(family: IpFamily): ReadonlyMap<string, ServiceState> {
  const { local, remote, vip, external, range, nodeRange } = places[family]
  const [all, elsewhere] = [
    [local(1), remote(1)],
    [remote(1), remote(2)],
  ]
  const port = (n: number, protocol: Protocol = 'TCP') => [makePort('main', protocol, 80, 30000 + n)]
  const open = (n: number): Partial<Service> => ({
    type: 'LoadBalancer',
    ports: port(n),
    loadBalancerVips: [ip(vip(n))],
    externalIps: [ip(external(n))],
  })
  const kinds: readonly (readonly [name: string, hosts: readonly string[], more: Partial<Service>])[] = [
    ['cluster IP', all, {}],
    ['UDP node port', all, { ports: port(2, 'UDP') }],
    ['SCTP node port', all, { ports: port(3, 'SCTP') }],
    ['external policy Local', all, { ...open(4), externalTrafficPolicy: 'Local', healthCheckNodePort: 32000 }],
    ['external policy Local without local endpoints', elsewhere, { ...open(5), externalTrafficPolicy: 'Local' }],
    ['internal policy Local without local endpoints', elsewhere, { ...open(6), internalTrafficPolicy: 'Local' }],
    ['no endpoints', [], open(7)],
    [
      'source ranges',
      all,
      { ...open(8), sourceRanges: [range, nodeRange, '10.0.0.0/8', '::/0', '0.0.0.0/0'].map(cidr) },
    ],
    ['source ranges without any network', all, { ...open(9), sourceRanges: [] }],
    [
      'affinity with external policy Local',
      all,
      { ...open(10), affinity: { timeoutSeconds: 60 }, externalTrafficPolicy: 'Local' },
    ],
    ['affinity', all, { ...open(11), affinity: { timeoutSeconds: 10800 } }],
    ['200 endpoints', Array.from({ length: 200 }, (_, n) => local(n + 1)), {}],
  ]
  return new Map(kinds.map(([name, hosts, more], index) => [name, stateOf(index + 1, family, hosts, more)]))
}
