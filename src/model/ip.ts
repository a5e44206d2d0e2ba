import ipaddr from 'ipaddr.js'

export type IpFamily = 'IPv4' | 'IPv6'

declare const canonical: unique symbol

/** An address in its canonical text (`10.0.0.1`, `fd00::1`): equal addresses are equal strings, safe in any rule text. */
export type Ip = string & { readonly [canonical]: 'ip' }

/** A network in its canonical text, host bits zero (`10.96.0.0/12`). */
export type Cidr = string & { readonly [canonical]: 'cidr' }

/** A listener on this address listens on every IPv4 address of the machine. */
export const unspecifiedIpv4 = '0.0.0.0' as Ip

/** A listener on this address listens on every address of both families, where the kernel has IPv6. */
export const unspecifiedIpv6 = '::' as Ip

export const loopbackIpv4 = '127.0.0.1' as Ip

const canonicalQuad = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/

/**
 * Parses an address: dotted quads without leading zeros, RFC 4291 text without a zone. An IPv4-mapped address (`::ffff:10.0.0.1`)
 * becomes the IPv4 address, as in Kubernetes: no IPv6 packet has it as its destination.
 */
export function parseIp(text: string): Ip | undefined {
  if (canonicalQuad.test(text)) return text as Ip
  if (!text.includes(':') || text.includes('%')) return undefined
  const groups = withoutDots(text)
  if (groups === undefined || !ipaddr.IPv6.isValid(groups)) return undefined
  const address = ipaddr.IPv6.parse(groups)
  return (address.isIPv4MappedAddress() ? address.toIPv4Address().toString() : address.toRFC5952String()) as Ip
}

/** Tells whether some program reads the text as an address: also a dotted quad with leading zeros, which `parseIp` refuses. */
export function isReadAsIp(text: string): boolean {
  if (parseIp(text) !== undefined) return true
  return /^\d+(\.\d+){3}$/.test(text) && text.split('.').every((octet) => Number(octet) <= 255)
}

/** Rewrites the dotted end of an IPv6 address as two groups: the library reads `::127.0.0.1` as `::ffff:127.0.0.1`, the kernel does not. */
function withoutDots(text: string): string | undefined {
  const quad = /[^:]*\.[^:]*$/.exec(text)?.[0]
  if (quad === undefined) return text
  if (!ipaddr.IPv4.isValidFourPartDecimal(quad) || hasLeadingZero(quad)) return undefined
  const [a = 0, b = 0, c = 0, d = 0] = quad.split('.').map(Number)
  const groups = [a * 256 + b, c * 256 + d].map((group) => group.toString(16))
  return `${text.slice(0, -quad.length)}${groups.join(':')}`
}

/** Parses a network and clears its host bits: `10.1.2.3/8` gives `10.0.0.0/8`. A network of IPv4-mapped addresses becomes the IPv4 network. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf('/')
  const addressText = text.slice(0, Math.max(slash, 0))
  const address = parseIp(addressText)
  const prefixText = text.slice(slash + 1)
  if (address === undefined || !/^(0|[1-9]\d{0,2})$/.test(prefixText)) return undefined
  const isMapped = ipFamily(address) === 'IPv4' && addressText.includes(':')
  const prefix = Number(prefixText) - (isMapped ? 96 : 0)
  if (prefix < 0 || prefix > addressBits(ipFamily(address))) return undefined
  const mask = maskOf(ipFamily(address), prefix)
  return `${bigIntToIp(ipToBigInt(address) & mask, ipFamily(address))}/${prefix}` as Cidr
}

/** Returns the network that contains this address alone. */
export function hostCidr(address: Ip): Cidr {
  return `${address}/${addressBits(ipFamily(address))}` as Cidr
}

export function isLoopback(address: Ip): boolean {
  return address.startsWith('127.') || address === '::1'
}

export function loopbackCidr(family: IpFamily): Cidr {
  return (family === 'IPv4' ? '127.0.0.0/8' : '::1/128') as Cidr
}

export function ipFamily(address: Ip | Cidr): IpFamily {
  return address.includes(':') ? 'IPv6' : 'IPv4'
}

/** `10.0.0.1:80`, `[fd00::1]:80`. */
export function renderAddressPort(address: Ip, port: number): string {
  return ipFamily(address) === 'IPv4' ? `${address}:${port}` : `[${address}]:${port}`
}

export function addressBits(family: IpFamily): 32 | 128 {
  return family === 'IPv4' ? 32 : 128
}

/** The address as a number below 2 ** 32. */
export function ipv4ToNumber(ip: Ip): number {
  const [a = '', b = '', c = '', d = ''] = ip.split('.')
  return ((Number(a) * 256 + Number(b)) * 256 + Number(c)) * 256 + Number(d)
}

export function ipToBigInt(ip: Ip): bigint {
  if (ipFamily(ip) === 'IPv4') return BigInt(ipv4ToNumber(ip))
  return ipaddr
    .parse(ip)
    .toByteArray()
    .reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n)
}

export function bigIntToIp(value: bigint, family: IpFamily): Ip {
  const bytes = Array.from({ length: addressBits(family) / 8 }, (_, index) =>
    Number((value >> BigInt(addressBits(family) - 8 * (index + 1))) & 0xffn),
  )
  const address = ipaddr.fromByteArray(bytes)
  return (address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString()) as Ip
}

/**
 * Reads an address in the order of the network: 4 bytes, or 16; undefined for another number of bytes. An IPv4-mapped address becomes
 * the IPv4 address, as in `parseIp`.
 */
export function ipFromBytes(bytes: Buffer): Ip | undefined {
  if (bytes.length === 4) return bytes.join('.') as Ip
  if (bytes.length !== 16) return undefined
  return parseIp(bytes.toString('hex').replace(/....(?!$)/g, '$&:'))
}

/** The addresses of a network, both ends included. */
export interface CidrRange {
  readonly family: IpFamily
  readonly first: bigint
  readonly last: bigint
}

/** Computes the first and the last address of a network. */
export function cidrRange(cidr: Cidr): CidrRange {
  const slash = cidr.indexOf('/')
  const base = cidr.slice(0, slash) as Ip
  const family = ipFamily(base)
  const hostBits = BigInt(addressBits(family) - Number(cidr.slice(slash + 1)))
  const first = ipToBigInt(base)
  return { family, first, last: first + (1n << hostBits) - 1n }
}

function maskOf(family: IpFamily, prefix: number): bigint {
  const bits = BigInt(addressBits(family))
  return ((1n << BigInt(prefix)) - 1n) << (bits - BigInt(prefix))
}

function hasLeadingZero(quad: string): boolean {
  return quad.split('.').some((octet) => octet.length > 1 && octet.startsWith('0'))
}

/** Tells whether every address of `inner` (a network, or one address as a network) lies in `outer`. */
export function cidrContains(outer: Cidr, inner: Cidr): boolean {
  const [large, small] = [cidrRange(outer), cidrRange(inner)]
  return large.family === small.family && large.first <= small.first && small.last <= large.last
}

/** Tells whether any address lies in both networks. */
export function cidrsOverlap(one: Cidr, other: Cidr): boolean {
  return rangesOverlap(cidrRange(one), cidrRange(other))
}

/** `cidrsOverlap` for networks that are compared with many others. */
export function rangesOverlap(one: CidrRange, other: CidrRange): boolean {
  return one.family === other.family && one.first <= other.last && other.first <= one.last
}
