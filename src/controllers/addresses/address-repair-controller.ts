import { orAbsent } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import { type Ip, ipFamily, parseIp } from '../../model/ip.ts'
import type { ControllerContext } from '../context.ts'
import type { IpAddress } from '../objects/addresses.ts'
import type { Service } from '../objects/service.ts'
import { serviceType } from '../objects/types.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { keyOf } from '../runtime/resource-type.ts'
import type { WorkResult } from '../runtime/work-queue.ts'

/** The grace for a new address: the API server may allocate it a moment before its Service exists. */
const newAddressGraceMs = 60_000

/**
 * Repairs what a crash between two writes left. A Service's cluster address without an IPAddress is allocated; an IPAddress whose Service is gone
 * or has another address is released; Services that share an address or a node port get a warning Event. Its keys are addresses, and ports as
 * `TCP/30080`.
 */
export function createAddressRepairController(context: ControllerContext): Component {
  const { caches, types, metrics, log } = context
  const services = caches.of(serviceType)
  const addresses = caches.of(types.ipAddresses)
  const repair = new AddressRepair(context)
  return new Controller({
    name: 'service-addresses',
    watches: [
      watchKeys(services, (service) => [...clusterIps(service), ...nodePorts(service)]),
      watchKeys(addresses, ({ metadata }) => [metadata.name]),
    ],
    reconcile: (key, { signal }) => repair.reconcile(key, signal),
    metrics,
    log: log.child('service-addresses'),
  })
}

class AddressRepair {
  readonly #context: ControllerContext
  readonly #holders

  constructor(context: ControllerContext) {
    this.#context = context
    const services = context.caches.of(serviceType)
    this.#holders = services.addIndex((service) => [...clusterIps(service), ...nodePorts(service)])
  }

  async reconcile(key: string, signal: AbortSignal): Promise<WorkResult> {
    const holders = this.#holders.get(key).toSorted(byAge)
    const ip = parseIp(key)
    if (ip === undefined) {
      for (const service of holders.slice(1)) {
        const message = `Port ${key} is already assigned to ${keyOf(holders[0] ?? service)}; please recreate service`
        this.#warn(service, 'PortAlreadyAllocated', message)
      }
      return undefined
    }
    for (const service of holders.slice(1)) {
      const message = `Cluster IP ${ip} is already assigned to ${keyOf(holders[0] ?? service)}; please recreate service`
      this.#warn(service, 'ClusterIPAlreadyAllocated', message)
    }
    const [holder] = holders
    return holder === undefined ? this.#giveBack(ip, signal) : this.#take(ip, holder, signal)
  }

  /** Allocates the address to its Service. It reads both objects from the server before it writes: a stale cache must not cost an address. */
  async #take(ip: Ip, holder: Service, signal: AbortSignal): Promise<WorkResult> {
    const { caches, types } = this.#context
    const cached = caches.of(types.ipAddresses).get(ip)
    if (cached !== undefined && isParent(cached, holder)) return undefined
    const [taken, service] = [await this.#readAddress(ip, signal), await this.#readService(holder, signal)]
    if (service === undefined || !clusterIps(service).includes(ip)) return undefined
    if (taken !== undefined) {
      if (isParent(taken, service)) return undefined
      this.#warn(service, 'IPAddressWrongReference', `IPAddress ${ip} names another owner; repairing`)
      await caches.writer(types.ipAddresses).delete(taken, signal)
    } else this.#warn(service, 'ClusterIPNotAllocated', `Cluster IP ${ip} is not allocated; repairing`)
    await caches.writer(types.ipAddresses).create(...this.#addressFor(ip, service), signal)
    return undefined
  }

  async #giveBack(ip: Ip, signal: AbortSignal): Promise<WorkResult> {
    const { caches, types, log } = this.#context
    const cached = caches.of(types.ipAddresses).get(ip)
    if (cached === undefined || cached.spec.parentRef.group !== '' || cached.spec.parentRef.resource !== 'services')
      return undefined
    const ageMs = Date.now() - Date.parse(cached.metadata.creationTimestamp)
    if (ageMs < newAddressGraceMs) return { againInMs: newAddressGraceMs - ageMs }
    const service = await this.#readService({ metadata: cached.spec.parentRef }, signal)
    if (service !== undefined && clusterIps(service).includes(ip)) return undefined
    log.warn('an address without a Service is released', { address: ip, ...cached.spec.parentRef })
    await caches.writer(types.ipAddresses).delete(cached, signal)
    return undefined
  }

  #addressFor(ip: Ip, { metadata: { name, namespace } }: Service) {
    const { labels, ipAllocatorName } = this.#context.dialect
    const own = { [labels.ipFamily]: ipFamily(ip), [labels.ipAddressManagedBy]: ipAllocatorName }
    const spec = { parentRef: { group: '', resource: 'services', namespace, name } }
    return [{ name: ip, labels: own }, { spec }] as const
  }

  #readAddress(name: string, signal: AbortSignal): Promise<IpAddress | undefined> {
    const { client, types } = this.#context
    const { resource, schema } = types.ipAddresses
    return orAbsent(client.get({ resource, name }, { signal }).then((found) => schema.parse(found)))
  }

  #readService({ metadata: { name, namespace = '' } }: Named, signal: AbortSignal): Promise<Service | undefined> {
    const { resource, schema } = serviceType
    const found = this.#context.client.get({ resource, namespace, name }, { signal })
    return orAbsent(found.then((service) => schema.parse(service)))
  }

  #warn({ metadata }: Service, reason: string, message: string): void {
    this.#context.events.record({ apiVersion: 'v1', kind: 'Service', metadata }, 'Warning', reason, message)
  }
}

interface Named {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
}

function clusterIps({ spec }: Service): readonly string[] {
  const texts = spec.clusterIPs.length > 0 ? spec.clusterIPs : [spec.clusterIP ?? '']
  return spec.type === 'ExternalName' ? [] : texts.flatMap((text) => parseIp(text) ?? [])
}

/** The node ports of a Service with their protocols. One Service may use a number for two protocols; two Services may not share it. */
function nodePorts({ spec }: Service): readonly string[] {
  return spec.ports.flatMap(({ nodePort, protocol }) => (nodePort ? [`${protocol}/${nodePort}`] : []))
}

function isParent({ spec: { parentRef } }: IpAddress, { metadata }: Service): boolean {
  const isService = parentRef.group === '' && parentRef.resource === 'services'
  return isService && parentRef.namespace === metadata.namespace && parentRef.name === metadata.name
}

function byAge({ metadata: one }: Service, { metadata: other }: Service): number {
  const byTime = Date.parse(one.creationTimestamp) - Date.parse(other.creationTimestamp)
  return byTime || (one.uid < other.uid ? -1 : 1)
}
