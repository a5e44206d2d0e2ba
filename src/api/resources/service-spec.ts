import type { Json } from '../../model/api-object.ts'
import type { ServiceType, TrafficPolicy } from '../../model/service.ts'
import type { ApiDocument } from '../document.ts'

/** `spec` of a Service on the wire, its types checked by the schema and its defaults filled in. */
export interface ServiceSpec {
  readonly type: ServiceType
  readonly selector?: Readonly<Record<string, string>>
  readonly ports?: readonly ServicePortSpec[]
  readonly clusterIP?: string
  readonly clusterIPs?: readonly string[]
  readonly externalIPs?: readonly string[]
  readonly externalName?: string
  readonly sessionAffinity: string
  readonly sessionAffinityConfig?: { readonly clientIP?: { readonly timeoutSeconds?: number } }
  readonly externalTrafficPolicy?: TrafficPolicy
  readonly internalTrafficPolicy?: TrafficPolicy
  readonly ipFamilies?: readonly string[]
  readonly ipFamilyPolicy?: string
  readonly allocateLoadBalancerNodePorts?: boolean
  readonly healthCheckNodePort?: number
  readonly loadBalancerSourceRanges?: readonly string[]
  readonly loadBalancerClass?: string
  readonly trafficDistribution?: string
  readonly [field: string]: Json | undefined
}

export interface ServicePortSpec {
  readonly name?: string
  readonly protocol: string
  readonly port?: number
  readonly targetPort?: number | string
  readonly nodePort?: number
  readonly appProtocol?: string
  readonly [field: string]: Json | undefined
}

/** The schema has checked what this asserts. */
export function serviceSpec(service: ApiDocument): ServiceSpec {
  return service['spec'] as ServiceSpec
}

export function isHeadless(spec: ServiceSpec): boolean {
  return spec.type !== 'ExternalName' && spec.clusterIP === 'None'
}

/** Whether the Service has, or is to get, a virtual address. */
export function usesClusterIp(spec: ServiceSpec): boolean {
  return spec.type !== 'ExternalName' && spec.clusterIP !== 'None'
}

export function usesNodePorts(spec: ServiceSpec): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer'
}

/** Whether traffic from outside the cluster comes to it: then it has a policy for that. */
export function isExternal(spec: ServiceSpec): boolean {
  return usesNodePorts(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0)
}

/** Load balancers ask this port of each node whether the Service has an endpoint there. */
export function needsHealthCheckPort(spec: ServiceSpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'
}
