import { addressBits, bigIntToIp, type Cidr, cidrRange, type Ip, type IpFamily, ipFamily } from '../../model/ip.ts'
import type { ForeignPacket } from '../../netfilter/foreign-match.ts'
import type { FilterHook } from '../../netfilter/foreign-path.ts'

/** Where pods live, for questions to the rules of others. */
export interface PodNetworks {
  readonly podCidrs: readonly Cidr[]
  /** Addresses where this node answers DNS for pods. */
  readonly dnsAddresses: readonly Ip[]
  /** The link of this node's pods, where it is known. */
  readonly podLink?: string
}

/** The first packet of a connection that pods depend on. */
export interface PodJourney {
  /** A plural: `new connections of pods to outside`. */
  readonly what: string
  readonly hook: FilterHook
  readonly packet: ForeignPacket
}

/** Documentation addresses (RFC 5737, RFC 3849): they stand for any host outside. */
export const outside = { IPv4: '198.51.100.9' as Ip, IPv6: '2001:db8::9' as Ip }

/** Returns the journeys of a family; none where it has no pod network. */
export function podJourneys(family: IpFamily, networks: PodNetworks, uplink?: string): readonly PodJourney[] {
  const cidr = networks.podCidrs.find((each) => ipFamily(each) === family)
  if (cidr === undefined) return []
  const here = addressIn(cidr, 5n)
  const there = addressIn(cidr, (1n << BigInt(addressBits(family) - prefixOf(cidr))) - 3n)
  const { podLink } = networks
  const out = { ...(podLink && { inInterface: podLink }), ...(uplink && { outInterface: uplink }) }
  const back = { ...(uplink && { inInterface: uplink }), ...(podLink && { outInterface: podLink }) }
  const forward = (what: string, ends: Pick<ForeignPacket, 'source' | 'destination'>, links: Partial<ForeignPacket>) =>
    ({ what, hook: 'FORWARD', packet: { ...base, ...ends, ...links, port: 80, protocol: 'TCP' } }) as const
  return [
    forward('new connections of pods to pods of other nodes', { source: here, destination: there }, out),
    forward('new connections of pods to outside', { source: here, destination: outside[family] }, out),
    forward('new connections of other nodes to pods here', { source: there, destination: here }, back),
    ...networks.dnsAddresses
      .filter((address) => ipFamily(address) === family)
      .map((destination) => ({
        what: `DNS queries of pods to ${destination}`,
        hook: 'INPUT' as const,
        packet: {
          ...base,
          source: here,
          destination,
          port: 53,
          protocol: 'UDP' as const,
          ...(podLink && { inInterface: podLink }),
        },
      })),
  ]
}

const base = { state: 'NEW', origin: 'elsewhere', mark: 0, isTranslated: false } as const

function addressIn(cidr: Cidr, number: bigint): Ip {
  return bigIntToIp(cidrRange(cidr).first + number, ipFamily(cidr))
}

function prefixOf(cidr: Cidr): number {
  return Number(cidr.slice(cidr.indexOf('/') + 1))
}
