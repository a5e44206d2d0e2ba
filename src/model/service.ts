import type { ObjectKey } from './api-object.ts'
import type { Cidr, Ip } from './ip.ts'

export type Protocol = 'TCP' | 'UDP' | 'SCTP'
export type ServiceType = 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName'
export type TrafficPolicy = 'Cluster' | 'Local'

/** A Service as this node uses it: parsed once at the edge, defaults applied, addresses canonical (spec 2.5). */
export interface Service {
  readonly key: ObjectKey
  readonly namespace: string
  readonly name: string
  /** Decide, with the age, who has what two Services claim; absent where the object does not say. */
  readonly uid?: string
  /** Milliseconds since 1970. */
  readonly createdAtMs?: number
  readonly type: ServiceType
  /** Empty for headless and ExternalName Services; at most one address of each family. */
  readonly clusterIps: readonly Ip[]
  readonly headless: boolean
  /** Another proxy serves it (label `service-proxy-name`), or none (label `headless`): it has names, and no rules of ours. */
  readonly foreignProxy?: true
  readonly externalName?: string
  readonly ports: readonly ServicePort[]
  readonly externalIps: readonly Ip[]
  /** Addresses of `status.loadBalancer.ingress` that this node answers itself: those whose `ipMode` is `Proxy` are left out (KEP-1860). */
  readonly loadBalancerVips: readonly Ip[]
  /** Those left out, where there are any: only for people who ask. */
  readonly proxiedVips?: readonly Ip[]
  /** Who may use the load balancer's addresses: absent means everyone, an empty list nobody. */
  readonly sourceRanges?: readonly Cidr[]
  /** Where a load balancer asks whether this node has endpoints; only with `externalTrafficPolicy: Local`. */
  readonly healthCheckNodePort?: number
  readonly externalTrafficPolicy: TrafficPolicy
  readonly internalTrafficPolicy: TrafficPolicy
  /** Present when `sessionAffinity` is `ClientIP`. */
  readonly affinity?: { readonly timeoutSeconds: number }
  readonly publishNotReadyAddresses: boolean
}

export interface ServicePort {
  /** `""` when the only port has no name. */
  readonly name: string
  readonly protocol: Protocol
  readonly port: number
  readonly nodePort?: number
}
