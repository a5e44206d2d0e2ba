import { isDeepStrictEqual } from 'node:util'
import type { ControllerContext } from '../context.ts'
import type { EndpointSlice } from '../objects/endpoints.ts'
import type { Node } from '../objects/node.ts'
import type { Pod } from '../objects/pod.ts'
import type { Service } from '../objects/service.ts'
import { nodeType, podType, serviceType } from '../objects/types.ts'
import { Controller, watchKeys } from '../runtime/controller.ts'
import type { ObjectCache } from '../runtime/object-cache.ts'
import type { ObjectWriter } from '../runtime/object-writer.ts'
import { keyOf } from '../runtime/resource-type.ts'
import { restAfterPass } from '../runtime/work-queue.ts'
import { planChangedSlices, planServiceSlices, serviceSliceTemplate } from './plan-service-slices.ts'
import { lastTriggerTime } from './pod-endpoints.ts'
import { hasSelector, ServicePods } from './service-pods.ts'
import { type Pass, SettledServices } from './settled-services.ts'
import { writeSlices } from './write-slices.ts'

/** Keeps the EndpointSlices of every Service with a selector. Its keys are Services. */
export function createEndpointSliceController(context: ControllerContext): Controller {
  const { caches, types, dialect, metrics, log } = context
  const [pods, services] = [caches.of(podType), caches.of(serviceType)]
  const servicePods = new ServicePods(pods, services)
  const settled = new SettledServices()
  const keeper = new SliceKeeper(context, servicePods, settled)
  const zoneOf = ({ metadata }: Node) => metadata.labels?.[dialect.labels.zone]

  /** Records that more than a pod changed in each of these Services. */
  const unsettled = (keys: readonly string[]) => {
    for (const key of keys) settled.unsettle(key)
    return keys
  }

  const noted = (pod: Pod) => {
    const keys = servicePods.servicesOf(pod)
    for (const key of keys) settled.notePod(key, pod)
    return keys
  }

  return new Controller({
    name: 'endpointslice',
    watches: [
      watchKeys(services, (service) => unsettled([keyOf(service)])),
      watchKeys(pods, noted, { isSame: isSameForEndpoints }),
      watchKeys(caches.of(nodeType), (node) => unsettled(servicePods.servicesOn(node)), {
        isSame: (old, next) => zoneOf(old) === zoneOf(next),
      }),
      watchKeys(caches.of(types.endpointSlices), (slice) => unsettled(serviceKeyOf(slice, context)), {
        skipsOwn: true,
      }),
    ],
    reconcile: (key, { signal }) => keeper.reconcile(key, signal),
    rest: restAfterPass,
    metrics,
    log: log.child('endpointslice'),
  })
}

/** Plans and writes the slices of one Service after the other. */
class SliceKeeper {
  readonly #dialect: ControllerContext['dialect']
  readonly #services: ObjectCache<Service>
  readonly #nodeOf: (name: string) => Node | undefined
  readonly #slicesOf: (key: string) => readonly EndpointSlice[]
  readonly #writer: ObjectWriter<EndpointSlice>
  readonly #servicePods: ServicePods
  readonly #settled: SettledServices

  constructor(context: ControllerContext, servicePods: ServicePods, settled: SettledServices) {
    const { caches, types, dialect } = context
    const nodes = caches.of(nodeType)
    const slices = caches.of(types.endpointSlices).addIndex((slice) => serviceKeyOf(slice, context))
    this.#dialect = dialect
    this.#services = caches.of(serviceType)
    this.#nodeOf = (name) => nodes.get(name)
    this.#slicesOf = (key) => slices.get(key)
    this.#writer = caches.writer(types.endpointSlices)
    this.#servicePods = servicePods
    this.#settled = settled
  }

  async reconcile(key: string, signal: AbortSignal): Promise<undefined> {
    const service = this.#services.get(key)
    if (service === undefined || !hasSelector(service)) this.#settled.unsettle(key)
    if (service === undefined) for (const slice of this.#slicesOf(key)) await this.#writer.delete(slice, signal)
    else if (hasSelector(service)) await this.#update(key, service, signal)
  }

  async #update(key: string, service: Service, signal: AbortSignal): Promise<void> {
    const { last, pass } = this.#settled.begin(key)
    const { plan, triggerTime } = (last && this.#planChanges(key, service, last)) ?? this.#planAll(key, service)
    await writeSlices(plan, serviceSliceTemplate(service, triggerTime, this.#dialect), this.#writer, signal)
    this.#settled.settle(pass, triggerTime)
  }

  #planAll(key: string, service: Service) {
    const pods = this.#servicePods.podsOf(service)
    const plan = planServiceSlices({ service, pods, ...this.#inputOf(key) })
    return { plan, triggerTime: lastTriggerTime(service, pods) }
  }

  /** Returns undefined if the changed pods alone do not decide the writes. */
  #planChanges(key: string, service: Service, { changed, triggerTime = '' }: Pass) {
    const podOf = (pod: string) => this.#servicePods.selectedPod(service, pod)
    const changes = planChangedSlices({ service, changed, podOf, ...this.#inputOf(key) })
    if (changes === undefined) return undefined
    const newest = lastTriggerTime(service, changes.pods) ?? ''
    return { plan: changes.plan, triggerTime: (newest > triggerTime ? newest : triggerTime) || undefined }
  }

  #inputOf(key: string) {
    return { nodeOf: this.#nodeOf, slices: this.#slicesOf(key), dialect: this.#dialect }
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
