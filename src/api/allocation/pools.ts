import { bigIntToIp, type Cidr, cidrRange, type Ip, ipFamily, ipToBigInt, parseIp } from '../../model/ip.ts'
import { collectionPrefix } from '../resources/keys.ts'
import { type Band, staticBandSize } from './band.ts'
import type { Pool } from './pool.ts'

/** The ports that NodePort Services may have, both ends included. */
export interface PortRange {
  readonly first: number
  readonly last: number
}

/** The offset in the service range of the cluster DNS server's address (10.96.0.10). */
const dnsOffset = 10n

/** Writes and recognises the IPAddress object that holds an address. */
export interface AddressLock {
  readonly render: (address: Ip) => string
  readonly isOwn: (text: string) => boolean
}

export const addressPrefix = collectionPrefix({ plural: 'ipaddresses' }, undefined)

export function clusterIpPool(cidr: Cidr, lock: AddressLock): Pool {
  const { family } = cidrRange(cidr)
  return {
    band: clusterIpBand(cidr),
    keyPrefix: addressPrefix,
    toText: (value) => bigIntToIp(value, family),
    fromText: (text) => {
      const ip = parseIp(text)
      return ip === undefined || ipFamily(ip) !== family ? undefined : ipToBigInt(ip)
    },
    render: (value) => lock.render(bigIntToIp(value, family)),
    isOwn: lock.isOwn,
  }
}

/** Returns the usable addresses: all but the network's own address and, for IPv4, its broadcast address. */
function clusterIpBand(cidr: Cidr): Band {
  const { family, first, last } = cidrRange(cidr)
  const hasBroadcast = family === 'IPv4' && last - first >= 2n
  const firstUsable = last === first ? first : first + 1n
  const lastUsable = hasBroadcast ? last - 1n : last
  const size = lastUsable - firstUsable + 1n
  return {
    first: firstUsable,
    dynamicFirst: firstUsable + staticBandSize(size, { min: 16, max: 256, step: 16 }),
    last: lastUsable,
    reserved: new Set([first + dnsOffset]),
  }
}

/** Returns the pool of node ports; `holder` names the Service by its key in the store. */
export function nodePortPool({ first, last }: PortRange, holder: string): Pool {
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
    render: () => JSON.stringify(holder),
    isOwn: (text) => text === JSON.stringify(holder),
  }
}

/** Returns the first usable address of a service range, which belongs to `default/kubernetes`. */
export function firstServiceIp(cidr: Cidr): Ip {
  return bigIntToIp(clusterIpBand(cidr).first, cidrRange(cidr).family)
}
