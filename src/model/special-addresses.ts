import { bigIntToIp, type Cidr, cidrRange, type Ip, ipFamily, ipToBigInt, parseIp, rangesOverlap } from './ip.ts'

/** Reasons why a workload cannot have an address: the special-purpose registries of RFC 6890 that matter to routing. */
export type SpecialKind = 'unspecified' | 'loopback' | 'link-local' | 'multicast' | 'broadcast' | 'metadata'

const networks: Readonly<Record<SpecialKind, readonly string[]>> = {
  unspecified: ['0.0.0.0/8', '::/128'],
  loopback: ['127.0.0.0/8', '::1/128'],
  'link-local': ['169.254.0.0/16', 'fe80::/10'],
  multicast: ['224.0.0.0/4', 'ff00::/8'],
  broadcast: ['255.255.255.255/32'],
  // Metadata servers of cloud providers outside the link-local range: Alibaba, AWS (IPv6), Google (IPv6).
  metadata: ['100.100.100.200/32', 'fd00:ec2::254/128', 'fd20:ce::254/128'],
}

const ranges = (Object.keys(networks) as SpecialKind[]).flatMap((kind) =>
  networks[kind].map((network) => ({ kind, range: cidrRange(network as Cidr) })),
)

const metadataAddresses = new Set(networks.metadata.map((text) => text.slice(0, text.indexOf('/'))))

/**
 * Returns the special kind of one canonical address, also where an IPv6 address carries an IPv4 address (IPv4-mapped, IPv4-compatible,
 * NAT64 `64:ff9b::/96`, 6to4). Undefined for an ordinary unicast address. Called for each endpoint: it reads text only.
 */
export function specialKindOf(ip: Ip): SpecialKind | undefined {
  return ipFamily(ip) === 'IPv4' ? kindOfIpv4(ip) : kindOfIpv6(ip)
}

/** Parses an address that a pod or another server may have; undefined for other text and for a special address. */
export function parseWorkloadIp(text: string): Ip | undefined {
  const ip = parseIp(text)
  return ip === undefined || specialKindOf(ip) !== undefined ? undefined : ip
}

/** Returns the first special kind that a network overlaps; `0.0.0.0/0` overlaps several. Undefined for ordinary unicast. */
export function specialKindIn(cidr: Cidr): SpecialKind | undefined {
  const asked = cidrRange(cidr)
  return ranges.find(({ range }) => rangesOverlap(range, asked))?.kind
}

/** Describes a kind for messages: `loopback (127.0.0.0/8, ::1/128)`. */
export function describeSpecialKind(kind: SpecialKind): string {
  return `${kind} (${networks[kind].join(', ')})`
}

function kindOfIpv4(ip: string): SpecialKind | undefined {
  // Nearly all addresses of a cluster begin otherwise, and a look into the set takes longer than this.
  if (!/^(?:0|100|12|16|2)/.test(ip)) return undefined
  if (metadataAddresses.has(ip)) return 'metadata'
  if (ip.startsWith('0.')) return 'unspecified'
  if (ip.startsWith('127.')) return 'loopback'
  if (ip.startsWith('169.254.')) return 'link-local'
  if (ip === '255.255.255.255') return 'broadcast'
  return /^2(2[4-9]|3\d)\./.test(ip) ? 'multicast' : undefined
}

function kindOfIpv6(ip: Ip): SpecialKind | undefined {
  if (metadataAddresses.has(ip)) return 'metadata'
  if (ip === '::') return 'unspecified'
  if (ip === '::1') return 'loopback'
  if (/^fe[89ab][\da-f]:/.test(ip)) return 'link-local'
  if (/^ff[\da-f]{2}:/.test(ip)) return 'multicast'
  const carried = carriedIpv4(ip)
  if (carried === undefined) return undefined
  return kindOfIpv4(carried)
}

/** The IPv4 address to which a translator or tunnel would carry the packets. */
function carriedIpv4(ip: Ip): Ip | undefined {
  if (!/^(::|64:ff9b::|2002:)/.test(ip)) return undefined
  const bits = ipToBigInt(ip)
  if (ip.startsWith('2002:')) return bigIntToIp((bits >> 80n) & 0xffffffffn, 'IPv4')
  const prefix = bits >> 32n
  const isCarrier = prefix === 0n || prefix === 0xffffn || prefix === 0x64ff9bn << 64n
  return isCarrier ? bigIntToIp(bits & 0xffffffffn, 'IPv4') : undefined
}
