import { isDeepStrictEqual } from 'node:util'
import type { ControllerContext } from '../context.ts'
import type { EndpointSlice } from '../objects/endpoints.ts'
import type { Node } from '../objects/node.ts'
import type { Pod } from '../objects/pod.ts'
import type { Service } from '../objects/service.ts'
import { nodeType, podType, serviceType } from '../objects/types.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import { keyOf } from '../runtime/resource-type.ts'
import { restAfterPass } from '../runtime/work-queue.ts'
import { planChangedSlices, planServiceSlices, serviceSliceTemplate } from './plan-service-slices.ts'
import { lastTriggerTime } from './pod-endpoints.ts'
import { hasSelector, ServicePods } from './service-pods.ts'
import { type Pass, SettledServices } from './settled-services.ts'
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

  const settled = new SettledServices()
  const nodeOf = (name: string) => nodes.get(name)

  const reconcile = async (key: string, { signal }: { signal: AbortSignal }) => {
    const service = services.get(key)
    if (service === undefined || !hasSelector(service)) settled.unsettle(key)
    if (service === undefined) for (const slice of slicesByService.get(key)) await writer.delete(slice, signal)
    else if (hasSelector(service)) await update(key, service, signal)
    return undefined
  }

  async function update(key: string, service: Service, signal: AbortSignal): Promise<void> {
    const { last, pass } = settled.begin(key)
    const { plan, triggerTime } = (last && planChanges(key, service, last)) ?? planAll(key, service)
    await writeSlices(plan, serviceSliceTemplate(service, triggerTime, dialect), writer, signal)
    settled.settle(pass, triggerTime)
  }

  function planAll(key: string, service: Service) {
    const selected = servicePods.podsOf(service)
    const plan = planServiceSlices({ service, pods: selected, nodeOf, slices: slicesByService.get(key), dialect })
    return { plan, triggerTime: lastTriggerTime(service, selected) }
  }

  /** Returns undefined if the changed pods alone do not decide the writes. */
  function planChanges(key: string, service: Service, { changed, triggerTime = '' }: Pass) {
    const podOf = (pod: string) => servicePods.selectedPod(service, pod)
    const input = { service, changed, podOf, nodeOf, slices: slicesByService.get(key), dialect }
    const changes = planChangedSlices(input)
    if (changes === undefined) return undefined
    const newest = lastTriggerTime(service, changes.pods) ?? ''
    return { plan: changes.plan, triggerTime: (newest > triggerTime ? newest : triggerTime) || undefined }
  }

  /** Records that more than a pod changed in each of these Services. */
  function unsettled(keys: readonly string[]): readonly string[] {
    for (const key of keys) settled.unsettle(key)
    return keys
  }

  function noted(pod: Pod): readonly string[] {
    const keys = servicePods.servicesOf(pod)
    for (const key of keys) settled.notePod(key, pod)
    return keys
  }

  return new Controller({
    name: 'endpointslice',
    watches: [
      watchKeys(services, (service) => unsettled([keyOf(service)])),
      watchKeys(pods, noted, { isSame: isSameForEndpoints }),
      watchKeys(nodes, (node) => unsettled(servicePods.servicesOn(node)), {
        isSame: (old, next) => zoneOf(old) === zoneOf(next),
      }),
      watchKeys(slices, (slice) => unsettled(serviceKeyOf(slice, context)), { skipsOwn: true }),
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
