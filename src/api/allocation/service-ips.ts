import { type Cidr, cidrContains, hostCidr, type Ip, ipFamily, ipToBigInt, parseIp } from '../../model/ip.ts'
import { type ServiceSpec, usesClusterIp } from '../resources/service-spec.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'
import { internalError } from '../status.ts'
import type { Claims } from './pool.ts'
import { type AddressLock, clusterIpPool } from './pools.ts'

export interface IpAllocation {
  readonly claims: Claims
  readonly lock: AddressLock
  readonly ranges: readonly Cidr[]
}

/** Claims one address for each of the Service's families: the requested one, the present one, or any free one. */
export async function allocateIps(
  spec: ServiceSpec,
  old: ServiceSpec | undefined,
  allocation: IpAllocation,
): Promise<{ readonly spec: ServiceSpec; readonly errors: readonly FieldError[] }> {
  if (!usesClusterIp(spec)) return { spec, errors: [] }
  const given = spec.clusterIPs ?? []
  const held = old?.clusterIPs ?? []
  const clusterIPs: string[] = []
  const errors: FieldError[] = []
  for (const [index, family] of (spec.ipFamilies ?? []).entries()) {
    const address = given[index]
    if (address) {
      if (!held.includes(address)) errors.push(...(await claim(address, given, allocation)))
      clusterIPs.push(address)
    } else if (errors.length === 0) clusterIPs.push(await claimAny(family, allocation))
  }
  return { spec: { ...spec, clusterIP: clusterIPs[0] ?? '', clusterIPs }, errors }
}

async function claim(
  address: string,
  given: readonly string[],
  allocation: IpAllocation,
): Promise<readonly FieldError[]> {
  const why = await tryClaim(address, allocation)
  if (why === undefined) return []
  return [invalidField('spec.clusterIPs', [...given], `failed to allocate IP ${address}: ${why}`)]
}

/** Claims an address; returns the reason when it cannot, else undefined. */
async function tryClaim(address: string, { claims, lock, ranges }: IpAllocation): Promise<string | undefined> {
  const ip = parseIp(address)
  const cidr = ip && rangeOf(ip, ranges)
  if (ip === undefined || cidr === undefined) {
    const own = ip === undefined ? ranges : ranges.filter((range) => ipFamily(range) === ipFamily(ip))
    return `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${own.join(', ')}`
  }
  return (await claims.claim(clusterIpPool(cidr, lock), ipToBigInt(ip)))
    ? undefined
    : 'provided IP is already allocated'
}

/** Returns the first range that can allocate the address. */
function rangeOf(ip: Ip, ranges: readonly Cidr[]): Cidr | undefined {
  return ranges.find((cidr) => {
    if (!cidrContains(cidr, hostCidr(ip))) return false
    const { band } = clusterIpPool(cidr, { render: () => '', isOwn: () => false })
    return ipToBigInt(ip) >= band.first && ipToBigInt(ip) <= band.last
  })
}

async function claimAny(family: string, { claims, lock, ranges }: IpAllocation): Promise<string> {
  for (const cidr of ranges.filter((range) => ipFamily(range) === family)) {
    const pool = clusterIpPool(cidr, lock)
    const value = await claims.claimAny(pool)
    if (value !== undefined) return pool.toText(value)
  }
  throw internalError('failed to allocate a serviceIP: range is full')
}

/** Releases the addresses that `next` no longer has. */
export async function releaseIps(
  old: ServiceSpec | undefined,
  next: ServiceSpec | undefined,
  { claims, lock }: IpAllocation,
): Promise<void> {
  for (const address of old?.clusterIPs ?? []) {
    const ip = parseIp(address)
    if (ip === undefined || next?.clusterIPs?.includes(address)) continue
    await claims.release(clusterIpPool(hostCidr(ip), lock), ipToBigInt(ip))
  }
}
