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
import type { CelFunction } from '../environment.ts'
import { CelFailure } from './failure.ts'

export class IpValue {
  readonly ip: Ip

  constructor(ip: Ip) {
    this.ip = ip
  }

  toString(): string {
    return this.ip
  }
}

/** A network with the host bits it was written with. */
export class CidrValue {
  readonly ip: Ip
  readonly bits: number

  constructor(ip: Ip, bits: number) {
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

  toString(): string {
    return `${this.ip}/${this.bits}`
  }
}

/** IPv4 in IPv6, zones and leading zeros are refused, as Kubernetes does. */
function readIp(text: string): IpValue | undefined {
  const ip = /^::ffff:/i.test(text) || text.includes('%') ? undefined : parseIp(text)
  return ip === undefined ? undefined : new IpValue(ip)
}

function readCidr(text: string): CidrValue | undefined {
  const [, address = '', bits = ''] = /^(.*)\/(0|[1-9]\d{0,2})$/.exec(text) ?? []
  const ip = readIp(address)
  if (ip === undefined || Number(bits) > (ipFamily(ip.ip) === 'IPv4' ? 32 : 128)) return undefined
  return new CidrValue(ip.ip, Number(bits))
}

function toIp(text: string): IpValue {
  const ip = readIp(text)
  if (ip === undefined) throw new CelFailure(`IP Address "${text}" parse error during conversion from string`)
  return ip
}

function toCidr(text: string): CidrValue {
  const cidr = readCidr(text)
  if (cidr === undefined) throw new CelFailure('network address parse error during conversion from string')
  return cidr
}

function isIn(ip: Ip, ...networks: readonly string[]): boolean {
  return networks.some((network) => {
    const range = cidrRange(network as Cidr)
    const value = ipToBigInt(ip)
    return range.family === ipFamily(ip) && value >= range.first && value <= range.last
  })
}

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

/** Kubernetes' `ip` and `cidr` libraries. */
export const addressFunctions: readonly CelFunction[] = [
  ['ip(string): net.IP', toIp],
  ['isIP(string): bool', (text: string) => readIp(text) !== undefined],
  ['IpNamespace.isCanonical(string): bool', (_: unknown, text: string) => toIp(text).ip === text],
  ['string(net.IP): string', String],
  ['net.IP.family(): int', ({ ip }: IpValue) => (ipFamily(ip) === 'IPv4' ? 4n : 6n)],
  ['net.IP.isUnspecified(): bool', ({ ip }: IpValue) => isUnspecified(ip)],
  ['net.IP.isLoopback(): bool', ({ ip }: IpValue) => isLoopback(ip)],
  ['net.IP.isLinkLocalMulticast(): bool', ({ ip }: IpValue) => isIn(ip, '224.0.0.0/24', 'ff02::/16')],
  ['net.IP.isLinkLocalUnicast(): bool', ({ ip }: IpValue) => isLinkLocal(ip)],
  ['net.IP.isGlobalUnicast(): bool', ({ ip }: IpValue) => isGlobal(ip)],
  ['cidr(string): net.CIDR', toCidr],
  ['isCIDR(string): bool', (text: string) => readCidr(text) !== undefined],
  ['string(net.CIDR): string', String],
  ['net.CIDR.containsIP(string): bool', (cidr: CidrValue, text: string) => contains(cidr, hostCidr(toIp(text).ip))],
  ['net.CIDR.containsIP(net.IP): bool', (cidr: CidrValue, { ip }: IpValue) => contains(cidr, hostCidr(ip))],
  ['net.CIDR.containsCIDR(string): bool', (cidr: CidrValue, text: string) => contains(cidr, toCidr(text).network)],
  ['net.CIDR.containsCIDR(net.CIDR): bool', (cidr: CidrValue, other: CidrValue) => contains(cidr, other.network)],
  ['net.CIDR.ip(): net.IP', ({ ip }: CidrValue) => new IpValue(ip)],
  ['net.CIDR.prefixLength(): int', ({ bits }: CidrValue) => BigInt(bits)],
  ['net.CIDR.masked(): net.CIDR', (cidr: CidrValue) => cidr.masked],
]
