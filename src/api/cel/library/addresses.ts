import {
  bigIntToIp,
  type Cidr,
  cidrContains,
  cidrRange,
  hostCidr,
  type Ip,
  ipFamily,
  ipToBigInt,
  parseIp,
} from '../../../model/ip.ts'
import { parseType } from '../values/types.ts'
import { CelError, OpaqueValue, type Value } from '../values/values.ts'
import type { CelFunction } from './declarations.ts'

export class IpValue extends OpaqueValue {
  readonly type = parseType('net.IP')
  readonly ip: Ip

  constructor(ip: Ip) {
    super()
    this.ip = ip
  }

  get bytes(): number {
    return ipFamily(this.ip) === 'IPv4' ? 4 : 16
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof IpValue && other.ip === this.ip
  }
}

/** A network that keeps the host bits of its text. */
export class CidrValue extends OpaqueValue {
  readonly type = parseType('net.CIDR')
  readonly ip: Ip
  readonly bits: number

  constructor(ip: Ip, bits: number) {
    super()
    this.ip = ip
    this.bits = bits
  }

  get network(): Cidr {
    return `${this.masked.ip}/${this.bits}` as Cidr
  }

  get masked(): CidrValue {
    const family = ipFamily(this.ip)
    const width = BigInt((family === 'IPv4' ? 32 : 128) - this.bits)
    return new CidrValue(bigIntToIp((ipToBigInt(this.ip) >> width) << width, family), this.bits)
  }

  get bytes(): number {
    return Math.ceil(this.bits / 8)
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof CidrValue && String(other) === String(this)
  }

  override toString(): string {
    return `${this.ip}/${this.bits}`
  }
}

/** Parses an address. Like Kubernetes it refuses IPv4-mapped IPv6, zones and leading zeros. */
function readIp(text: string): IpValue | CelError {
  const name = JSON.stringify(text)
  const [bare = '', zone] = text.split('%', 2)
  const ip = parseIp(bare)
  if (ip === undefined || zone === '') {
    return new CelError(
      `IP Address ${name} parse error during conversion from string: ParseAddr(${name}): ${problemOf(text)}`,
    )
  }
  if (zone !== undefined) return new CelError(`IP address ${name} with zone value is not allowed`)
  return isMapped(text) ? new CelError(`IPv4-mapped IPv6 address ${name} is not allowed`) : new IpValue(ip)
}

const isMapped = (text: string) => /^(?:0*:)*:?:ffff:(?:\d+\.|[\da-f]{1,4}:[\da-f]{1,4}$)/i.test(text)

/** Returns the error of a text, in Go's wording where that is known. */
function problemOf(text: string): string {
  const first = /[.:%]/.exec(text)?.[0]
  if (first === undefined) return 'unable to parse IP'
  if (first === '%') return 'missing IPv6 address'
  return first === ':' ? 'unexpected character' : problemOfIpv4(text)
}

function problemOfIpv4(text: string): string {
  const at = (index: number) => ` (at ${JSON.stringify(text.slice(index))})`
  let index = 0
  for (const [count, field] of text.split('.').entries()) {
    const end = index + field.length
    const problem = problemOfField(field)
    if (problem === 'empty') return `IPv4 field must have at least one digit${at(Math.min(end, text.length - 1))}`
    if (typeof problem === 'number') return `unexpected character${at(index + problem)}`
    if (problem !== undefined) return problem
    if (count === 4) return 'IPv4 address too long'
    index = end + 1
  }
  return 'IPv4 address too short'
}

/** Returns the error in a part of an IPv4 address, or the index of a character that is no digit. */
function problemOfField(field: string): string | number | undefined {
  if (field === '') return 'empty'
  const other = field.search(/\D/)
  const digits = other < 0 ? field : field.slice(0, other)
  if (/^0\d/.test(digits)) return 'IPv4 field has octet with leading zero'
  if (Number(digits) > 255) return 'IPv4 field has value >255'
  return other < 0 ? undefined : other
}

const conversion = 'network address parse error during conversion from string: '

function readCidr(text: string): CidrValue | CelError {
  const name = JSON.stringify(text)
  const slash = text.lastIndexOf('/')
  const wrong = (why: string) => new CelError(`${conversion}${conversion}netip.ParsePrefix(${name}): ${why}`)
  if (slash < 0) return wrong("no '/'")
  const ip = readIp(text.slice(0, slash))
  if (isMapped(text.slice(0, slash)))
    return new CelError(`${conversion}IPv4-mapped IPv6 address ${name} is not allowed`)
  if (!(ip instanceof IpValue))
    return wrong(`ParseAddr(${JSON.stringify(text.slice(0, slash))}): ${problemOf(text.slice(0, slash))}`)
  const bits = text.slice(slash + 1)
  if (!/^(?:0|[1-9]\d*)$/.test(bits)) return wrong(`bad bits after slash: ${JSON.stringify(bits)}`)
  return Number(bits) > ip.bytes * 8 ? wrong('prefix length out of range') : new CidrValue(ip.ip, Number(bits))
}

function isIn(ip: Ip, ...networks: readonly string[]): boolean {
  return networks.some((network) => {
    const range = cidrRange(network as Cidr)
    const value = ipToBigInt(ip)
    return range.family === ipFamily(ip) && value >= range.first && value <= range.last
  })
}

/** The networks ffX2::/16, one for each value of the flags. */
const linkLocalMulticast = Array.from({ length: 16 }, (_, flags) => `ff${flags.toString(16)}2::/16`)
const isUnspecified = (ip: Ip) => isIn(ip, '0.0.0.0/32', '::/128')
const isLoopback = (ip: Ip) => isIn(ip, '127.0.0.0/8', '::1/128')
const isLinkLocal = (ip: Ip) => isIn(ip, '169.254.0.0/16', 'fe80::/10')
const isGlobal = (ip: Ip) => {
  return !(
    isUnspecified(ip) ||
    isLoopback(ip) ||
    isLinkLocal(ip) ||
    isIn(ip, '224.0.0.0/4', 'ff00::/8', '255.255.255.255/32')
  )
}

const contains = (cidr: CidrValue, inner: Cidr) =>
  ipFamily(cidr.ip) === ipFamily(inner) && cidrContains(cidr.network, inner)

function containsText(cidr: CidrValue, text: string): Value {
  const ip = readIp(text)
  return ip instanceof IpValue ? contains(cidr, hostCidr(ip.ip)) : new CelError('no such overload')
}

function containsNetwork(cidr: CidrValue, text: string): Value {
  const other = readCidr(text)
  return other instanceof CidrValue ? contains(cidr, other.network) : new CelError('no such overload')
}

function isCanonical(text: string): Value {
  const ip = readIp(text)
  return ip instanceof IpValue ? ip.ip === text : ip
}

/** The `ip` and `cidr` libraries of Kubernetes. */
export const addressFunctions: readonly CelFunction[] = [
  ['ip(string): net.IP', readIp],
  ['net.CIDR.ip(): net.IP', ({ ip }: CidrValue) => new IpValue(ip)],
  ['isIP(string): bool', (text: string) => readIp(text) instanceof IpValue],
  ['ip.isCanonical(string): bool', isCanonical],
  ['string(net.IP): string', ({ ip }: IpValue) => ip],
  ['net.IP.family(): int', ({ ip }: IpValue) => (ipFamily(ip) === 'IPv4' ? 4n : 6n)],
  ['net.IP.isUnspecified(): bool', ({ ip }: IpValue) => isUnspecified(ip)],
  ['net.IP.isLoopback(): bool', ({ ip }: IpValue) => isLoopback(ip)],
  ['net.IP.isLinkLocalMulticast(): bool', ({ ip }: IpValue) => isIn(ip, '224.0.0.0/24', ...linkLocalMulticast)],
  ['net.IP.isLinkLocalUnicast(): bool', ({ ip }: IpValue) => isLinkLocal(ip)],
  ['net.IP.isGlobalUnicast(): bool', ({ ip }: IpValue) => isGlobal(ip)],
  ['cidr(string): net.CIDR', readCidr],
  ['isCIDR(string): bool', (text: string) => readCidr(text) instanceof CidrValue],
  ['string(net.CIDR): string', String],
  ['net.CIDR.containsIP(string): bool', containsText],
  ['net.CIDR.containsIP(net.IP): bool', (cidr: CidrValue, { ip }: IpValue) => contains(cidr, hostCidr(ip))],
  ['net.CIDR.containsCIDR(string): bool', containsNetwork],
  ['net.CIDR.containsCIDR(net.CIDR): bool', (cidr: CidrValue, other: CidrValue) => contains(cidr, other.network)],
  ['net.CIDR.prefixLength(): int', ({ bits }: CidrValue) => BigInt(bits)],
  ['net.CIDR.masked(): net.CIDR', (cidr: CidrValue) => cidr.masked],
]
