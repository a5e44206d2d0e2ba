import type { Json } from '../../model/api-object.ts'
import type { ServiceType, TrafficPolicy } from '../../model/service.ts'
import type { ApiDocument } from '../document.ts'

/** The `spec` of a Service on the wire, after the schema checked its types and filled in defaults. */
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

/** Returns the spec of a Service whose types the schema has checked. */
export function serviceSpec(service: ApiDocument): ServiceSpec {
  return service['spec'] as ServiceSpec
}

export function isHeadless(spec: ServiceSpec): boolean {
  return spec.type !== 'ExternalName' && spec.clusterIP === 'None'
}

/** Checks whether the Service has, or must get, a cluster IP. */
export function usesClusterIp(spec: ServiceSpec): boolean {
  return spec.type !== 'ExternalName' && spec.clusterIP !== 'None'
}

export function usesNodePorts(spec: ServiceSpec): boolean {
  return spec.type === 'NodePort' || spec.type === 'LoadBalancer'
}

/** Checks whether the Service receives traffic from outside the cluster; it then has an external traffic policy. */
export function isExternal(spec: ServiceSpec): boolean {
  return usesNodePorts(spec) || (spec.type === 'ClusterIP' && (spec.externalIPs ?? []).length > 0)
}

/** Checks whether the Service needs a health check port, on which load balancers ask each node for local endpoints. */
export function needsHealthCheckPort(spec: ServiceSpec): boolean {
  return spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'
}
