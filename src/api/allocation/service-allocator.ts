import { randomInt } from 'node:crypto'
import { type Cidr, cidrRange, ipFamily, ipToBigInt, parseIp } from '../../model/ip.ts'
import type { ApiDocument } from '../document.ts'
import { storeKey } from '../resources/keys.ts'
import type { Companions, Transition } from '../resources/resource.ts'
import {
  type ServicePortSpec,
  type ServiceSpec,
  serviceSpec,
  usesClusterIp,
  usesNodePorts,
} from '../resources/service-spec.ts'
import { type FieldError, invalidField } from '../schema/field-error.ts'
import { internalError } from '../status.ts'
import type { Store } from '../store/index.ts'
import { type Pool, PoolTransaction } from './pool.ts'
import { clusterIpPool, nodePortPool, type PortRange } from './pools.ts'

export interface AllocationRanges {
  readonly serviceCidr: Cidr
  readonly nodePortRange: PortRange
}

/**
 * Allocates what a Service's new state needs and releases what it no longer does. The answer's writes go into the Service's own
 * commit, each with a compare-and-swap, so no address is ever held twice and none is lost; a commit that loses the race is planned anew.
 */
export function createServiceAllocator(
  store: Store,
  ranges: AllocationRanges,
  pickBelow: (limit: number) => number = randomInt,
): (transition: Transition) => Promise<Companions> {
  const pools = { ips: clusterIpPool(ranges.serviceCidr), ports: nodePortPool(ranges.nodePortRange) }
  return async (transition) => {
    const owner = ownerOf(transition)
    const ips = new PoolTransaction(store, pools.ips, owner, pickBelow)
    const ports = new PoolTransaction(store, pools.ports, owner, pickBelow)
    const errors: FieldError[] = []
    const next =
      transition.next && (await allocate(transition.next, transition.old, { ips, ports, errors, pools, ranges }))
    await release(transition.old, next, ips, ports, ranges.serviceCidr)
    return { ...(next === undefined ? {} : { next }), writes: [...ips.writes, ...ports.writes], errors }
  }
}

interface Allocation {
  readonly ips: PoolTransaction
  readonly ports: PoolTransaction
  readonly errors: FieldError[]
  readonly pools: { readonly ips: Pool; readonly ports: Pool }
  readonly ranges: AllocationRanges
}

function ownerOf({ next, old }: Transition): string {
  const metadata = (next ?? old)?.metadata
  return storeKey({ plural: 'services' }, metadata?.namespace, metadata?.name ?? '')
}

async function allocate(next: ApiDocument, old: ApiDocument | undefined, allocation: Allocation): Promise<ApiDocument> {
  const oldSpec = old && serviceSpec(old)
  const withIp = await allocateIp(serviceSpec(next), oldSpec, allocation)
  const spec = await allocateNodePorts(withIp, oldSpec, allocation)
  return { ...next, spec }
}

async function allocateIp(
  spec: ServiceSpec,
  old: ServiceSpec | undefined,
  allocation: Allocation,
): Promise<ServiceSpec> {
  if (!usesClusterIp(spec) || (spec.clusterIP && spec.clusterIP === old?.clusterIP)) return spec
  if (spec.clusterIP) {
    const why = await claimIp(spec.clusterIP, allocation)
    const message = `failed to allocate IP ${spec.clusterIP}: ${why}`
    if (why !== undefined) allocation.errors.push(invalidField('spec.clusterIPs', [spec.clusterIP], message))
    return spec
  }
  const value = await allocation.ips.claimAny()
  if (value === undefined) throw internalError('failed to allocate a serviceIP: range is full')
  const clusterIP = allocation.pools.ips.toText(value)
  return { ...spec, clusterIP, clusterIPs: [clusterIP] }
}

async function claimIp(address: string, { ips, pools, ranges }: Allocation): Promise<string | undefined> {
  const value = serviceIpValue(address, ranges.serviceCidr)
  if (value === undefined || value < pools.ips.band.first || value > pools.ips.band.last) {
    return `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${ranges.serviceCidr}`
  }
  return (await ips.claim(value)) ? undefined : 'provided IP is already allocated'
}

/** Undefined for what is not an address of the range's family. */
function serviceIpValue(address: string | undefined, cidr: Cidr): bigint | undefined {
  const ip = address === undefined ? undefined : parseIp(address)
  return ip === undefined || ipFamily(ip) !== cidrRange(cidr).family ? undefined : ipToBigInt(ip)
}

async function allocateNodePorts(
  spec: ServiceSpec,
  old: ServiceSpec | undefined,
  allocation: Allocation,
): Promise<ServiceSpec> {
  if (!usesNodePorts(spec) || spec.ports === undefined) return spec
  const held = nodePortsOf(old)
  for (const [index, port] of spec.ports.entries()) {
    if (port.nodePort && !held.has(port.nodePort)) await claimNodePort(port.nodePort, index, allocation)
  }
  if (spec.type === 'LoadBalancer' && spec.allocateLoadBalancerNodePorts === false) return spec
  return { ...spec, ports: await chooseNodePorts(spec.ports, allocation) }
}

async function claimNodePort(nodePort: number, index: number, { ports, errors, ranges }: Allocation): Promise<void> {
  const { first, last } = ranges.nodePortRange
  const field = `spec.ports[${index}].nodePort`
  if (nodePort < first || nodePort > last) {
    const why = `provided port is not in the valid range. The range of valid ports is ${first}-${last}`
    errors.push(invalidField(field, nodePort, why))
  } else if (!(await ports.claim(BigInt(nodePort)))) {
    errors.push(invalidField(field, nodePort, 'provided port is already allocated'))
  }
}

/** One port number on two protocols shares its node port. */
async function chooseNodePorts(
  ports: readonly ServicePortSpec[],
  allocation: Allocation,
): Promise<readonly ServicePortSpec[]> {
  const chosen = new Map(ports.filter(({ nodePort }) => nodePort).map(({ port, nodePort }) => [port, nodePort]))
  const used = new Set(ports.map(({ nodePort, protocol }) => `${protocol} ${nodePort}`))
  const result: ServicePortSpec[] = []
  for (const port of ports) {
    if (port.nodePort) {
      result.push(port)
      continue
    }
    const shared = chosen.get(port.port)
    const isShareable = shared !== undefined && !used.has(`${port.protocol} ${shared}`)
    const nodePort = isShareable ? shared : await claimAnyNodePort(allocation)
    chosen.set(port.port, nodePort)
    used.add(`${port.protocol} ${nodePort}`)
    result.push({ ...port, nodePort })
  }
  return result
}

async function claimAnyNodePort({ ports }: Allocation): Promise<number> {
  const value = await ports.claimAny()
  if (value === undefined) throw internalError('failed to allocate a nodePort: range is full')
  return Number(value)
}

async function release(
  old: ApiDocument | undefined,
  next: ApiDocument | undefined,
  ips: PoolTransaction,
  ports: PoolTransaction,
  cidr: Cidr,
): Promise<void> {
  const before = old && serviceSpec(old)
  const after = next && serviceSpec(next)
  const ip = serviceIpValue(before?.clusterIP, cidr)
  if (ip !== undefined && before?.clusterIP !== after?.clusterIP) await ips.release(ip)
  const kept = nodePortsOf(after)
  for (const nodePort of nodePortsOf(before)) if (!kept.has(nodePort)) await ports.release(BigInt(nodePort))
}

function nodePortsOf(spec: ServiceSpec | undefined): ReadonlySet<number> {
  return new Set((spec?.ports ?? []).flatMap(({ nodePort }) => (nodePort ? [nodePort] : [])))
}
