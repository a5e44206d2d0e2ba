import type { ObjectKey } from './api-object.ts'
import type { Cidr, Ip } from './ip.ts'

export type Protocol = 'TCP' | 'UDP' | 'SCTP'
export type ServiceType = 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName'
export type TrafficPolicy = 'Cluster' | 'Local'

/** A Service in the form that this node uses: parsed once at the edge, defaults applied, addresses canonical (spec 2.5). */
export interface Service {
  readonly key: ObjectKey
  readonly namespace: string
  readonly name: string
  /** Decides, after the age, which of two Services owns what both claim; absent if the object has none. */
  readonly uid?: string
  /** Milliseconds since 1970. */
  readonly createdAtMs?: number
  readonly type: ServiceType
  /** Empty for headless and ExternalName Services; at most one address of each family. */
  readonly clusterIps: readonly Ip[]
  readonly headless: boolean
  /** True if another proxy serves it (label `service-proxy-name`) or none does (label `headless`): it has DNS names and no rules. */
  readonly foreignProxy?: true
  readonly externalName?: string
  readonly ports: readonly ServicePort[]
  readonly externalIps: readonly Ip[]
  /** Addresses of `status.loadBalancer.ingress` that this node answers itself: those whose `ipMode` is `Proxy` are left out (KEP-1860). */
  readonly loadBalancerVips: readonly Ip[]
  /** The addresses that `ipMode: Proxy` leaves out, if any; used by `explain` alone. */
  readonly proxiedVips?: readonly Ip[]
  /** Source ranges that may use the load balancer's addresses: absent allows all sources, an empty list none. */
  readonly sourceRanges?: readonly Cidr[]
  /** The port on which a load balancer probes whether this node has endpoints; only with `externalTrafficPolicy: Local`. */
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
  /** The protocol that its endpoints speak (`grpc`, `example.com/own`), as the Service says; for Ingress alone. */
  readonly appProtocol?: string
}
