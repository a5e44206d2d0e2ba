import { bigIntToIp, type Cidr, cidrRange, ipToBigInt, parseIp } from '../../model/ip.ts'
import { staticBandSize } from './band.ts'
import type { Pool } from './pool.ts'

/** Ports that NodePort Services may have, both ends included. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

/** The offset in the service range that the cluster DNS server asks for (10.96.0.10). */
const dnsOffset = 10n

export function clusterIpPool(cidr: Cidr): Pool {
  const { family, first, last } = cidrRange(cidr)
  const hasBroadcast = family === 'IPv4' && last - first >= 2n
  const firstUsable = last === first ? first : first + 1n
  const lastUsable = hasBroadcast ? last - 1n : last
  const size = lastUsable - firstUsable + 1n
  return {
    band: {
      first: firstUsable,
      dynamicFirst: firstUsable + staticBandSize(size, { min: 16, max: 256, step: 16 }),
      last: lastUsable,
      reserved: new Set([first + dnsOffset]),
    },
    keyPrefix: '/registry/ipallocations/',
    toText: (value) => bigIntToIp(value, family),
    fromText: (text) => {
      const ip = parseIp(text)
      return ip === undefined ? -1n : ipToBigInt(ip)
    },
  }
}

export function nodePortPool({ first, last }: PortRange): Pool {
  const size = BigInt(last - first + 1)
  return {
    band: {
      first: BigInt(first),
      dynamicFirst: BigInt(first) + staticBandSize(size, { min: 16, max: 128, step: 32 }),
      last: BigInt(last),
      reserved: new Set(),
    },
    keyPrefix: '/registry/nodeportallocations/',
    toText: String,
    fromText: BigInt,
  }
}

/** The first usable address of a service range, which is `default/kubernetes`. */
export function firstServiceIp(cidr: Cidr): string {
  const { band, toText } = clusterIpPool(cidr)
  return toText(band.first)
}
