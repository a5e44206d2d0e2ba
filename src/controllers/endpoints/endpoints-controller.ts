import type { ControllerContext } from '../context.ts'
import type { EndpointSubset, Endpoints } from '../objects/endpoints.ts'
import type { Service } from '../objects/service.ts'
import { endpointsType, podType, serviceType } from '../objects/types.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { replacedMetadata } from '../runtime/metadata.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import { keyOf, splitKey } from '../runtime/resource-type.ts'
import { restAfterPass } from '../runtime/work-queue.ts'
import { isKept, planEndpoints } from './plan-endpoints.ts'
import { hasSelector, ServicePods } from './service-pods.ts'
import { isSameForEndpoints } from './slice-controller.ts'

/** Keeps the Endpoints object of every Service with a selector, for clients that know no slices. Its keys are Services. */
export function createEndpointsController({ caches, dialect, metrics, log }: ControllerContext): Controller {
  const pods = caches.of(podType)
  const services = caches.of(serviceType)
  const endpoints = caches.of(endpointsType)
  const writer = caches.writer(endpointsType)
  const servicePods = new ServicePods(pods, services)

  const vanished = vanishedServices(services, endpoints)

  const reconcile = async (key: string, { signal }: { signal: AbortSignal }) => {
    const service = services.get(key)
    const existing = endpoints.get(key)
    const isLeftOver = existing !== undefined && (isKept(existing, dialect) || vanished.has(key))
    if (!service && existing && isLeftOver) await writer.delete(existing, signal)
    if (!service || !hasSelector(service)) return undefined
    const plan = planEndpoints(service, servicePods.podsOf(service), existing, dialect)
    if (plan.kind === 'none') return undefined
    const { labels, annotations } = plan.content
    const subsets = plan.content.subsets.map(withoutEmpty)
    const fields = subsets.length > 0 ? { subsets } : {}
    if (plan.kind === 'create') await writer.create({ ...splitKey(key), labels, annotations }, fields, signal)
    else await writer.update({ ...replacedMetadata(plan.existing.metadata), labels, annotations }, fields, signal)
    return undefined
  }

  return new Controller({
    name: 'endpoints',
    watches: [
      watchKeys(services, (service) => [keyOf(service)]),
      watchKeys(pods, (pod) => servicePods.servicesOf(pod), { isSame: isSameForEndpoints }),
      watchKeys(endpoints, (object) => [keyOf(object)], { skipsOwn: true }),
    ],
    reconcile,
    rest: restAfterPass,
    metrics,
    log: log.child('endpoints'),
  })
}

/**
 * Returns the keys of deleted Services whose Endpoints may still exist, kept up to date. Hand-written Endpoints are deleted with their Service, but
 * may be created before it: only a seen deletion distinguishes the two cases.
 */
function vanishedServices(services: ObjectCache<Service>, endpoints: ObjectCache<Endpoints>): ReadonlySet<string> {
  const vanished = new Set<string>()
  services.onChange(({ old, next }) => {
    if (next !== undefined) vanished.delete(keyOf(next))
    else if (old !== undefined) vanished.add(keyOf(old))
  })
  endpoints.onChange(({ old, next }) => {
    if (next === undefined && old !== undefined) vanished.delete(keyOf(old))
  })
  return vanished
}

/** Returns the subset without empty lists and names, as kube-controller-manager writes it. */
function withoutEmpty({ addresses, notReadyAddresses, ports }: EndpointSubset) {
  return {
    ...(addresses.length > 0 && { addresses }),
    ...(notReadyAddresses.length > 0 && { notReadyAddresses }),
    ...(ports.length > 0 && { ports: ports.map(({ name, ...port }) => ({ ...(name !== '' && { name }), ...port })) }),
  }
}
