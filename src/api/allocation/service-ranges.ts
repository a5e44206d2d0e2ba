import { type Cidr, cidrContains, hostCidr, type IpFamily, ipFamily, parseIp } from '../../model/ip.ts'
import { type ApiDocument, listAt, textAt } from '../document.ts'
import { collectionPrefix } from '../resources/keys.ts'
import { readDocument, readDocuments } from '../resources/read-document.ts'
import type { CoWrites, Transition } from '../resources/resource.ts'
import { allCidrs, readyCidrs } from '../resources/service-cidrs.ts'
import { forbidden } from '../status.ts'
import type { Store } from '../store/index.ts'
import { keepReading } from '../store/kept-reading.ts'
import { addressPrefix } from './pools.ts'

const serviceCidrs = { plural: 'servicecidrs' }
const serviceCidrPrefix = collectionPrefix(serviceCidrs, undefined)
const nothing: CoWrites = { writes: [], errors: [] }

/** Returns the networks of every ready ServiceCIDR, `default` first: its first family is the cluster's primary family. */
export const readServiceRanges = keepReading(serviceCidrPrefix, async (store): Promise<readonly Cidr[]> => {
  const documents = (await readDocuments(store, serviceCidrs, undefined)).toSorted((a, b) => rankOf(a) - rankOf(b))
  return [...new Set(documents.flatMap(readyCidrs))]
})

export function familiesOf(ranges: readonly Cidr[]): readonly IpFamily[] {
  return [...new Set(ranges.map(ipFamily))]
}

function rankOf({ metadata }: ApiDocument): number {
  return metadata.name === 'default' ? 0 : 1
}

/** Refuses to delete a range while an address of it is held that no other range contains (until the controller of issue 4 waits for that). */
export function guardServiceCidr(store: Store, group: string) {
  return async ({ old, next }: Transition): Promise<CoWrites> => {
    if (old === undefined || next !== undefined) return nothing
    const name = old.metadata.name ?? ''
    const others = (await readDocuments(store, serviceCidrs, undefined))
      .filter(({ metadata }) => metadata.name !== name)
      .flatMap(allCidrs)
    const { entries } = await store.range(addressPrefix)
    const stranded = entries
      .map(({ key }) => key.slice(addressPrefix.length))
      .find((address) => {
        const ip = parseIp(address)
        const isIn = (cidr: Cidr) => ip !== undefined && cidrContains(cidr, hostCidr(ip))
        return allCidrs(old).some(isIn) && !others.some(isIn)
      })
    if (stranded === undefined) return nothing
    throw forbidden(
      { group, plural: 'servicecidrs', kind: 'ServiceCIDR' },
      name,
      `IPAddress ${stranded} is only in its ranges`,
    )
  }
}

/** Refuses that a user deletes the IPAddress object of an address that a Service has. */
export function guardIpAddress(store: Store, group: string) {
  return async ({ old, next }: Transition): Promise<CoWrites> => {
    if (old === undefined || next !== undefined) return nothing
    const address = old.metadata.name ?? ''
    const part = (field: string) => textAt(old['spec'], 'parentRef', field)
    if (part('group') !== '' || part('resource') !== 'services') return nothing
    const service = await readDocument(store, { plural: 'services' }, part('namespace'), part('name'))
    if (!listAt(service?.['spec'], 'clusterIPs').includes(address)) return nothing
    const why = `Service ${part('namespace')}/${part('name')} has this address`
    throw forbidden({ group, plural: 'ipaddresses', kind: 'IPAddress' }, address, why)
  }
}
