import type { Dialect } from '../../model/dialect.ts'
import type { IpFamily } from '../../model/ip.ts'
import { controllerReference } from '../objects/claim.ts'
import type { EndpointSlice } from '../objects/endpoints.ts'
import type { Node } from '../objects/node.ts'
import type { Pod } from '../objects/pod.ts'
import type { Service } from '../objects/service.ts'
import { type IdentifiedEndpoint, keyByPod, planSlices, type SlicePlan, type SliceTemplate } from './plan-slices.ts'
import { mayServe, portResolver, serviceFamilies, toEndpoint } from './pod-endpoints.ts'
import { areSame, type EndpointGroup, groupEndpoints, portsKey } from './wanted-slices.ts'

/** The most endpoints in one slice (spec 2.7). */
export const maxEndpointsPerSlice = 100

export interface ServiceSlicesInput {
  readonly service: Service
  /** The pods that the Service selects. */
  readonly pods: readonly Pod[]
  readonly nodeOf: (name: string) => Node | undefined
  /** The slices of the Service that the controller for selectors manages. */
  readonly slices: readonly EndpointSlice[]
  readonly dialect: Dialect
}

/** Changed pods of a Service whose slices are up to date for all other pods. */
export interface ChangedSlicesInput extends Omit<ServiceSlicesInput, 'pods'> {
  /** The keys of the pods by uid, also of deleted pods. */
  readonly changed: ReadonlyMap<string, string>
  /** Returns undefined for a pod that the Service does not select. */
  readonly podOf: (key: string) => Pod | undefined
}

/**
 * Returns the writes that `planServiceSlices` returns, from the slices of the changed pods only; undefined if an endpoint comes, goes or moves, because all
 * slices decide that.
 */
export function planChangedSlices({
  changed,
  podOf,
  slices,
  ...rest
}: ChangedSlicesInput): ChangedSlicesPlan | undefined {
  const touched = slices.filter(({ endpoints }) => endpoints.some(({ targetRef }) => changed.has(targetRef?.uid ?? '')))
  const keys = new Set(changed.values())
  for (const { targetRef } of touched.flatMap(({ endpoints }) => endpoints))
    keys.add(`${targetRef?.namespace}/${targetRef?.name}`)
  const pods = [...keys].flatMap((key) => podOf(key) ?? [])
  const plan = planEndpointSlices({ ...rest, slices: touched, pods }, [])
  const isInPlace = plan.updates.every(
    ({ slice, content }) =>
      areSame<IdentifiedEndpoint>(
        slice.endpoints,
        content.endpoints,
        (one, other) => keyByPod(one) === keyByPod(other),
      ) && portsKey(slice.ports) === portsKey(content.ports),
  )
  return isInPlace && plan.creates.length + plan.deletes.length === 0 ? { plan, pods } : undefined
}

export interface ChangedSlicesPlan {
  readonly plan: SlicePlan
  /** The pods that were looked at. */
  readonly pods: readonly Pod[]
}

/**
 * Returns the writes that bring a Service's slices to its pods. A pod on an unknown node waits for its Node object, unless unready pods are
 * published too.
 */
export function planServiceSlices(input: ServiceSlicesInput): SlicePlan {
  return planEndpointSlices(input, serviceFamilies(input.service))
}

function planEndpointSlices(
  { service, pods, nodeOf, slices, dialect }: ServiceSlicesInput,
  placeholderFamilies: readonly IpFamily[],
): SlicePlan {
  const families = serviceFamilies(service)
  const portsOf = portResolver(service)
  const groups = pods.filter(mayServe).flatMap((pod): EndpointGroup[] => {
    const node = pod.spec.nodeName ? nodeOf(pod.spec.nodeName) : undefined
    if (pod.spec.nodeName && !node && !service.spec.publishNotReadyAddresses) return []
    const ports = portsOf(pod)
    return families.flatMap((family) => {
      const endpoint = toEndpoint(pod, { service, family, node, zoneLabel: dialect.labels.zone })
      return endpoint ? [{ family, ports, endpoints: [endpoint] }] : []
    })
  })
  return planSlices({
    groups: groupEndpoints(groups),
    placeholderFamilies,
    slices,
    template: serviceSliceTemplate(service, undefined, dialect),
    keyOf: keyByPod,
    maxEndpoints: maxEndpointsPerSlice,
  })
}

/** Returns what all slices of the Service carry. `triggerTime` is the time of the newest change that they show. */
export function serviceSliceTemplate(
  service: Service,
  triggerTime: string | undefined,
  dialect: Dialect,
): SliceTemplate {
  const { name, namespace = '', labels = {} } = service.metadata
  const { serviceName, managedBy, headlessService } = dialect.labels
  const reserved = [serviceName, managedBy, headlessService]
  const own = Object.entries(labels).filter(([key]) => !reserved.includes(key))
  return {
    namespace,
    generateName: `${name}-`,
    labels: {
      ...Object.fromEntries(own),
      [serviceName]: name,
      [managedBy]: dialect.sliceManagers.selector,
      ...(service.spec.clusterIP === 'None' && { [headlessService]: '' }),
    },
    annotations: {},
    owner: controllerReference({ apiVersion: 'v1', kind: 'Service', ...service }),
    passingAnnotations: triggerTime === undefined ? {} : { [dialect.annotations.lastChangeTriggerTime]: triggerTime },
  }
}
