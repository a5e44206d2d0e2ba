import { isDeepStrictEqual } from 'node:util'
import type { ControllerContext } from '../context.ts'
import type { EndpointSlice } from '../objects/endpoints.ts'
import type { Node } from '../objects/node.ts'
import type { Pod } from '../objects/pod.ts'
import { nodeType, podType, serviceType } from '../objects/types.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { keyOf } from '../runtime/resource-type.ts'
import { restAfterPass } from '../runtime/work-queue.ts'
import { planServiceSlices, serviceSliceTemplate } from './plan-service-slices.ts'
import { hasSelector, ServicePods } from './service-pods.ts'
import { writeSlices } from './write-slices.ts'

/** Keeps the EndpointSlices of every Service with a selector. Its keys are Services. */
export function createEndpointSliceController(context: ControllerContext): Controller {
  const { caches, types, dialect } = context
  const pods = caches.of(podType)
  const services = caches.of(serviceType)
  const nodes = caches.of(nodeType)
  const slices = caches.of(types.endpointSlices)
  const writer = caches.writer(types.endpointSlices)
  const servicePods = new ServicePods(pods, services)
  const slicesByService = slices.addIndex((slice) => serviceKeyOf(slice, context))

  const reconcile = async (key: string, { signal }: { signal: AbortSignal }) => {
    const service = services.get(key)
    const own = slicesByService.get(key)
    if (!service) {
      for (const slice of own) await writer.delete(slice, signal)
    } else if (hasSelector(service)) {
      const selected = servicePods.podsOf(service)
      const nodeOf = (name: string) => nodes.get(name)
      const plan = planServiceSlices({ service, pods: selected, nodeOf, slices: own, dialect })
      await writeSlices(plan, serviceSliceTemplate(service, selected, dialect), writer, signal)
    }
    return undefined
  }

  return new Controller({
    name: 'endpointslice',
    watches: [
      watchKeys(services, (service) => [keyOf(service)]),
      watchKeys(pods, (pod) => servicePods.servicesOf(pod), { isSame: isSameForEndpoints }),
      watchKeys(nodes, (node) => servicePods.servicesOn(node), { isSame: (old, next) => zoneOf(old) === zoneOf(next) }),
      watchKeys(slices, (slice) => serviceKeyOf(slice, context), { skipsOwn: true }),
    ],
    reconcile,
    rest: restAfterPass,
    metrics: context.metrics,
    log: context.log.child('endpointslice'),
  })

  function zoneOf({ metadata }: Node): string | undefined {
    return metadata.labels?.[dialect.labels.zone]
  }
}

/** Returns the key of the Service of a slice that this controller manages. */
function serviceKeyOf({ metadata }: EndpointSlice, { dialect }: ControllerContext): readonly string[] {
  const { labels = {}, namespace = '' } = metadata
  const service = labels[dialect.labels.serviceName]
  const isOurs = labels[dialect.labels.managedBy] === dialect.sliceManagers.selector
  return isOurs && service !== undefined ? [`${namespace}/${service}`] : []
}

/** Checks whether a change of a pod leaves every endpoint as it was. */
export function isSameForEndpoints(old: Pod, next: Pod): boolean {
  const isSameIdentity =
    old.metadata.uid === next.metadata.uid && old.metadata.deletionTimestamp === next.metadata.deletionTimestamp
  return (
    isSameIdentity &&
    isDeepStrictEqual(old.metadata.labels, next.metadata.labels) &&
    isDeepStrictEqual(old.spec, next.spec) &&
    isDeepStrictEqual(old.status, next.status)
  )
}
