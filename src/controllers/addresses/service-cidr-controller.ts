import { listPages, orAbsent } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import { cidrContains, hostCidr, parseCidr, parseIp } from '../../model/ip.ts'
import type { ControllerContext } from '../context.ts'
import type { ServiceCidr } from '../objects/addresses.ts'
import { withCondition } from '../objects/conditions.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import type { ObjectWriter } from '../runtime/object-writer.ts'
import { restAfterPass, type WorkResult } from '../runtime/work-queue.ts'

const recheckMs = 10_000

/** Marks a ServiceCIDR as ready, and keeps it while an address in use lies in its networks and in no others. Its keys are ServiceCIDRs. */
export function createServiceCidrController(context: ControllerContext): Component {
  const { caches, types, metrics, log } = context
  const cidrs = caches.of(types.serviceCidrs)
  const guard = new ServiceCidrGuard(context)
  const leaving = () =>
    [...cidrs.list()]
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      .map(({ metadata }) => metadata.name)
  return new Controller({
    name: 'servicecidr',
    watches: [
      // Another ServiceCIDR may cover the addresses of one that is being deleted.
      watchKeys(cidrs, ({ metadata }) => [metadata.name, ...leaving()]),
      watchKeys(caches.of(types.ipAddresses), leaving),
    ],
    reconcile: (name, { signal }) => guard.reconcile(name, signal),
    rest: restAfterPass,
    metrics,
    log: log.child('servicecidr'),
  })
}

interface ReadyChange {
  readonly status: 'True' | 'False'
  readonly reason: string
  readonly message: string
}

const ready: ReadyChange = {
  status: 'True',
  reason: 'NetworkServiceCIDRReady',
  message: 'Kubernetes Service CIDR is ready',
}

/** Writes the finalizer and the condition of one ServiceCIDR after the other. */
class ServiceCidrGuard {
  readonly #client: ControllerContext['client']
  readonly #addressType: ControllerContext['types']['ipAddresses']
  readonly #cidrs: ObjectCache<ServiceCidr>
  readonly #writer: ObjectWriter<ServiceCidr>
  readonly #finalizer: string

  constructor({ client, caches, types, dialect }: ControllerContext) {
    this.#client = client
    this.#addressType = types.ipAddresses
    this.#cidrs = caches.of(types.serviceCidrs)
    this.#writer = caches.writer(types.serviceCidrs)
    this.#finalizer = `${dialect.groups.networking}/service-cidr-finalizer`
  }

  async reconcile(name: string, signal: AbortSignal): Promise<WorkResult> {
    const cidr = this.#cidrs.get(name)
    if (cidr === undefined) return undefined
    const { finalizers, deletionTimestamp } = cidr.metadata
    const isHeld = finalizers.includes(this.#finalizer)
    if (deletionTimestamp !== undefined) return isHeld ? this.#letGo(cidr, signal) : undefined
    const held = isHeld ? cidr : await this.#writeFinalizers(cidr, [...finalizers, this.#finalizer], signal)
    await this.#writeCondition(held, ready, signal)
    return undefined
  }

  /**
   * Removes the finalizer when no address depends on the ServiceCIDR. It lists addresses from the server: one that was allocated a moment ago
   * counts.
   */
  async #letGo(cidr: ServiceCidr, signal: AbortSignal): Promise<WorkResult> {
    const stranded = await this.#listStranded(cidr, signal)
    if (stranded.length === 0) {
      const kept = cidr.metadata.finalizers.filter((each) => each !== this.#finalizer)
      await orAbsent(this.#writeFinalizers(cidr, kept, signal))
      return undefined
    }
    const message = `There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR (${stranded.length}, such as ${stranded[0]})`
    await this.#writeCondition(cidr, { status: 'False', reason: 'Terminating', message }, signal)
    return { againInMs: recheckMs }
  }

  /** Lists the addresses in use that only this ServiceCIDR covers. */
  async #listStranded(cidr: ServiceCidr, signal: AbortSignal): Promise<readonly string[]> {
    const { resource, schema } = this.#addressType
    const { items } = await listPages(this.#client, { resource }, { signal })
    const others = [...this.#cidrs.list()].filter(
      ({ metadata }) => metadata.name !== cidr.metadata.name && metadata.deletionTimestamp === undefined,
    )
    const names = items.map((item) => schema.parse(item).metadata.name)
    return names.filter((name) => holds([cidr], name) && !holds(others, name))
  }

  #writeFinalizers(
    { metadata }: ServiceCidr,
    finalizers: readonly string[],
    signal: AbortSignal,
  ): Promise<ServiceCidr> {
    const { uid, resourceVersion } = metadata
    const patch = { metadata: { uid, resourceVersion, finalizers } }
    return this.#writer.patch({ metadata }, { kind: 'merge', patch }, signal)
  }

  async #writeCondition(cidr: ServiceCidr, change: ReadyChange, signal: AbortSignal): Promise<void> {
    const conditions = withCondition(cidr.status.conditions, { type: 'Ready', ...change }, Date.now())
    if (conditions === cidr.status.conditions) return
    const { uid, resourceVersion } = cidr.metadata
    const patch = { metadata: { uid, resourceVersion }, status: { conditions } }
    await this.#writer.patch(cidr, { kind: 'merge', patch }, signal, 'status')
  }
}

function holds(cidrs: readonly ServiceCidr[], address: string): boolean {
  const ip = parseIp(address)
  const networks = cidrs.flatMap(({ spec }) => spec.cidrs.flatMap((text) => parseCidr(text) ?? []))
  return ip !== undefined && networks.some((network) => cidrContains(network, hostCidr(ip)))
}
