import type { ControllerContext } from '../context.ts'
import type { EndpointSlice, Endpoints } from '../objects/endpoints.ts'
import { endpointsType, serviceType } from '../objects/types.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { keyOf } from '../runtime/resource-type.ts'
import { isMirrored, type MirrorPlan, planMirror } from './plan-mirror.ts'
import { writeSlices } from './write-slices.ts'

/** Mirrors hand-written Endpoints of Services without a selector as EndpointSlices. Its keys are Endpoints. */
export function createMirroringController(context: ControllerContext): Controller {
  const { caches, types, dialect, events, metrics, log } = context
  const services = caches.of(serviceType)
  const endpoints = caches.of(endpointsType)
  const slices = caches.of(types.endpointSlices)
  const writer = caches.writer(types.endpointSlices)
  const mirrorKey = (slice: EndpointSlice) => mirroredKeyOf(slice, context)
  const slicesByEndpoints = slices.addIndex(mirrorKey)

  const reconcile = async (key: string, { signal }: { signal: AbortSignal }) => {
    const original = endpoints.get(key)
    const own = slicesByEndpoints.get(key)
    if (original === undefined || !isMirrored(original, services.get(key), dialect)) {
      for (const slice of own) await writer.delete(slice, signal)
      return undefined
    }
    const mirror = planMirror(original, own, dialect)
    reportSkipped(original, mirror)
    await writeSlices(mirror.plan, mirror.template, writer, signal)
    return undefined
  }

  function reportSkipped(original: Endpoints, { invalidAddresses, skippedAddresses }: MirrorPlan): void {
    const subject = { ...endpointsType, metadata: original.metadata }
    for (const address of invalidAddresses) {
      events.record(
        subject,
        'Warning',
        'InvalidIPAddress',
        `Skipped ${JSON.stringify(address)}: it is not an IP address that an endpoint may have`,
      )
    }
    if (skippedAddresses > 0) {
      const message = `Skipped ${skippedAddresses} addresses: of each subset 1000 are mirrored`
      events.record(subject, 'Warning', 'TooManyAddressesToMirror', message)
    }
  }

  return new Controller({
    name: 'endpointslice-mirroring',
    watches: [
      watchKeys(endpoints, (object) => [keyOf(object)]),
      watchKeys(services, (service) => [keyOf(service)]),
      watchKeys(slices, mirrorKey, { skipsOwn: true }),
    ],
    reconcile,
    metrics,
    log: log.child('endpointslice-mirroring'),
  })
}

function mirroredKeyOf({ metadata }: EndpointSlice, { dialect }: ControllerContext): readonly string[] {
  const { labels = {}, namespace = '' } = metadata
  const name = labels[dialect.labels.serviceName]
  const isOurs = labels[dialect.labels.managedBy] === dialect.sliceManagers.mirroring
  return isOurs && name !== undefined ? [`${namespace}/${name}`] : []
}
