import { listPages, orAbsent } from '../../client/index.ts'
import type { Component } from '../../loop/component.ts'
import { cidrContains, hostCidr, parseCidr, parseIp } from '../../model/ip.ts'
import type { ControllerContext } from '../context.ts'
import type { ServiceCidr } from '../objects/addresses.ts'
import { withCondition } from '../objects/conditions.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { restAfterPass, type WorkResult } from '../runtime/work-queue.ts'

const recheckMs = 10_000

/** Marks a ServiceCIDR as ready, and keeps it while an address in use lies in its networks and in no others. Its keys are ServiceCIDRs. */
export function createServiceCidrController(context: ControllerContext): Component {
  const { client, caches, types, dialect, metrics, log } = context
  const cidrs = caches.of(types.serviceCidrs)
  const writer = caches.writer(types.serviceCidrs)
  const addresses = caches.of(types.ipAddresses)
  const finalizer = `${dialect.groups.networking}/service-cidr-finalizer`

  const reconcile = async (name: string, { signal }: { signal: AbortSignal }): Promise<WorkResult> => {
    const cidr = cidrs.get(name)
    if (cidr === undefined) return undefined
    if (cidr.metadata.deletionTimestamp === undefined) {
      const { finalizers } = cidr.metadata
      const held = finalizers.includes(finalizer) ? cidr : await keep(cidr, [...finalizers, finalizer], signal)
      await writeCondition(
        held,
        { status: 'True', reason: 'NetworkServiceCIDRReady', message: 'Kubernetes Service CIDR is ready' },
        signal,
      )
      return undefined
    }
    return cidr.metadata.finalizers.includes(finalizer) ? letGo(cidr, signal) : undefined
  }

  /**
   * Removes the finalizer when no address depends on the ServiceCIDR. It lists addresses from the server: one that was allocated a moment ago
   * counts.
   */
  async function letGo(cidr: ServiceCidr, signal: AbortSignal): Promise<WorkResult> {
    const { items } = await listPages(client, { resource: types.ipAddresses.resource }, { signal })
    const others = [...cidrs.list()].filter(
      ({ metadata }) => metadata.name !== cidr.metadata.name && metadata.deletionTimestamp === undefined,
    )
    const names = items.map((item) => types.ipAddresses.schema.parse(item).metadata.name)
    const stranded = names.filter((name) => holds([cidr], name) && !holds(others, name))
    if (stranded.length === 0) {
      const kept = cidr.metadata.finalizers.filter((each) => each !== finalizer)
      await orAbsent(keep(cidr, kept, signal))
      return undefined
    }
    const message = `There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR (${stranded.length}, such as ${stranded[0]})`
    await writeCondition(cidr, { status: 'False', reason: 'Terminating', message }, signal)
    return { againInMs: recheckMs }
  }

  function keep({ metadata }: ServiceCidr, finalizers: readonly string[], signal: AbortSignal): Promise<ServiceCidr> {
    const { uid, resourceVersion } = metadata
    return writer.patch(
      { metadata },
      { kind: 'merge', patch: { metadata: { uid, resourceVersion, finalizers } } },
      signal,
    )
  }

  async function writeCondition(
    cidr: ServiceCidr,
    change: { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string },
    signal: AbortSignal,
  ): Promise<void> {
    const conditions = withCondition(cidr.status.conditions, { type: 'Ready', ...change }, Date.now())
    if (conditions === cidr.status.conditions) return
    const { uid, resourceVersion } = cidr.metadata
    const patch = { metadata: { uid, resourceVersion }, status: { conditions } }
    await writer.patch(cidr, { kind: 'merge', patch }, signal, 'status')
  }

  const leaving = () =>
    [...cidrs.list()]
      .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
      .map(({ metadata }) => metadata.name)
  return new Controller({
    name: 'servicecidr',
    watches: [
      // Another ServiceCIDR may cover the addresses of one that is being deleted.
      watchKeys(cidrs, ({ metadata }) => [metadata.name, ...leaving()]),
      watchKeys(addresses, leaving),
    ],
    reconcile,
    rest: restAfterPass,
    metrics,
    log: log.child('servicecidr'),
  })
}

function holds(cidrs: readonly ServiceCidr[], address: string): boolean {
  const ip = parseIp(address)
  const networks = cidrs.flatMap(({ spec }) => spec.cidrs.flatMap((text) => parseCidr(text) ?? []))
  return ip !== undefined && networks.some((network) => cidrContains(network, hostCidr(ip)))
}
