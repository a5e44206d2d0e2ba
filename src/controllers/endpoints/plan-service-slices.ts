import type { Dialect } from '../../model/dialect.ts'
import { controllerReference } from '../objects/claim.ts'
import type { EndpointSlice } from '../objects/endpoints.ts'
import type { Node } from '../objects/node.ts'
import type { Pod } from '../objects/pod.ts'
import type { Service } from '../objects/service.ts'
import { keyByPod, planSlices, type SlicePlan, type SliceTemplate } from './plan-slices.ts'
import { lastTriggerTime, mayServe, portResolver, serviceFamilies, toEndpoint } from './pod-endpoints.ts'
import { type EndpointGroup, groupEndpoints } from './wanted-slices.ts'

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

/**
 * Returns the writes that bring a Service's slices to its pods. A pod on an unknown node waits for its Node object, unless unready pods are
 * published too.
 */
export function planServiceSlices({ service, pods, nodeOf, slices, dialect }: ServiceSlicesInput): SlicePlan {
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
    placeholderFamilies: families,
    slices,
    template: serviceSliceTemplate(service, pods, dialect),
    keyOf: keyByPod,
    maxEndpoints: maxEndpointsPerSlice,
  })
}

export function serviceSliceTemplate(service: Service, pods: readonly Pod[], dialect: Dialect): SliceTemplate {
  const { name, namespace = '', labels = {} } = service.metadata
  const { serviceName, managedBy, headlessService } = dialect.labels
  const reserved = [serviceName, managedBy, headlessService]
  const own = Object.entries(labels).filter(([key]) => !reserved.includes(key))
  const triggerTime = lastTriggerTime(service, pods)
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
