import type { Json } from '../../model/api-object.ts'
import type { ServiceType, TrafficPolicy } from '../../model/service.ts'
import type { ApiDocument } from '../document.ts'
import { flag, integer, intOrString, listOf, mapOf, object, type Schema, text, withDefault } from '../schema/schema.ts'

/** `spec` of a Service on the wire, its types checked by the schema below and its defaults filled in. */
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
  readonly [field: string]: Json | undefined
}

export interface ServicePortSpec {
  readonly name?: string
  readonly protocol: string
  readonly port?: number
  readonly targetPort?: number | string
  readonly nodePort?: number
  readonly [field: string]: Json | undefined
}

const servicePort = object({
  name: text,
  protocol: withDefault(text, 'TCP'),
  port: integer,
  targetPort: intOrString,
  nodePort: integer,
  appProtocol: text,
})

export const serviceSpecSchema: Schema = object({
  type: withDefault(text, 'ClusterIP'),
  selector: mapOf(text),
  ports: listOf(servicePort),
  clusterIP: text,
  clusterIPs: listOf(text),
  externalIPs: listOf(text),
  externalName: text,
  sessionAffinity: withDefault(text, 'None'),
  sessionAffinityConfig: object({ clientIP: object({ timeoutSeconds: integer }) }),
  externalTrafficPolicy: text,
  internalTrafficPolicy: text,
  publishNotReadyAddresses: flag,
  ipFamilies: listOf(text),
  ipFamilyPolicy: text,
  loadBalancerIP: text,
  loadBalancerSourceRanges: listOf(text),
  loadBalancerClass: text,
  allocateLoadBalancerNodePorts: flag,
  healthCheckNodePort: integer,
  trafficDistribution: text,
})

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
