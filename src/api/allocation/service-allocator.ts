import { randomInt } from 'node:crypto'
import type { ApiDocument } from '../document.ts'
import { storeKey } from '../resources/keys.ts'
import type { CoWrites, Transition } from '../resources/resource.ts'
import { serviceSpec } from '../resources/service-spec.ts'
import type { FieldError } from '../schema/field-error.ts'
import type { Store } from '../store/index.ts'
import { type LockContext, serviceAddressLock } from './address-lock.ts'
import { validateClaimedAddresses } from './external-addresses.ts'
import { Claims } from './pool.ts'
import { nodePortPool, type PortRange } from './pools.ts'
import { settleFamilies } from './service-families.ts'
import { allocateIps, type IpAllocation, releaseIps } from './service-ips.ts'
import { allocatePorts, type PortAllocation, releasePorts } from './service-ports.ts'
import { familiesOf, readServiceRanges } from './service-ranges.ts'

export interface AllocatorOptions extends LockContext {
  readonly nodePortRange: PortRange
  /** Returns a random integer from 0 to below the limit. */
  readonly pickBelow?: (limit: number) => number
}

/**
 * Allocates what a Service's new state needs and releases what it no longer needs. The returned writes go into the Service's own commit, each with a
 * compare-and-swap, so no address is ever held twice and none is lost; a commit that loses the race is planned anew.
 */
export function createServiceAllocator(
  store: Store,
  options: AllocatorOptions,
): (transition: Transition) => Promise<CoWrites> {
  return async ({ old, next }) => {
    const { name = '', namespace } = (next ?? old)?.metadata ?? {}
    const claims = new Claims(store, options.pickBelow ?? randomInt)
    const ips = {
      claims,
      lock: serviceAddressLock(options, { name, ...(namespace === undefined ? {} : { namespace }) }),
      ranges: await readServiceRanges(store),
    }
    const holder = storeKey({ plural: 'services' }, namespace, name)
    const ports = { claims, pool: nodePortPool(options.nodePortRange, holder) }
    const claimed = await validateClaimedAddresses(store, { old, next }, ips.ranges)
    if (claimed.length > 0) return { writes: [], errors: claimed }
    const allocated = next && (await allocate(next, old, ips, ports))
    if (allocated !== undefined && allocated.errors.length > 0) return { writes: [], errors: allocated.errors }
    const [before, after] = [old && serviceSpec(old), allocated && serviceSpec(allocated.next)]
    await releaseIps(before, after, ips)
    await releasePorts(before, after, ports)
    return { ...(allocated === undefined ? {} : { next: allocated.next }), writes: claims.writes, errors: [] }
  }
}

async function allocate(
  next: ApiDocument,
  old: ApiDocument | undefined,
  ips: IpAllocation,
  ports: PortAllocation,
): Promise<{ readonly next: ApiDocument; readonly errors: readonly FieldError[] }> {
  const oldSpec = old && serviceSpec(old)
  const settled = settleFamilies(serviceSpec(next), oldSpec, familiesOf(ips.ranges))
  if (settled.errors.length > 0) return { next, errors: settled.errors }
  const withIps = await allocateIps(settled.spec, oldSpec, ips)
  const withPorts = await allocatePorts(withIps.spec, oldSpec, ports)
  return { next: { ...next, spec: withPorts.spec }, errors: [...withIps.errors, ...withPorts.errors] }
}
