import type { Cidr, Ip } from '../model/ip.ts'
import type { Protocol, TrafficPolicy } from '../model/service.ts'

/** One port of one Service in one IP family: its addresses and its endpoints. */
export interface Frontend {
  /** `namespace/name:port`, or `namespace/name` for the port without a name; unique together with the protocol. */
  readonly servicePort: string
  readonly protocol: Protocol
  readonly clusterIp: Ip
  readonly port: number
  /** On the addresses of this node that `nodePortAddresses` selects. */
  readonly nodePort?: number
  readonly externalIps: readonly Ip[]
  /** Addresses of load balancers that are answered here. */
  readonly loadBalancerVips: readonly Ip[]
  /** Source ranges that may use `loadBalancerVips`: absent allows all sources, an empty list none. */
  readonly sourceRanges?: readonly Cidr[]
  /** The policy for traffic to the cluster IP. */
  readonly internalPolicy: TrafficPolicy
  /** The policy for traffic to the node port, external addresses and load balancers. */
  readonly externalPolicy: TrafficPolicy
  /** Where a load balancer asks for the health of this node's endpoints. */
  readonly healthCheckNodePort?: number
  /** Present for `sessionAffinity: ClientIP`. */
  readonly affinity?: { readonly timeoutSeconds: number }
  /** Whether anything could answer anywhere: if not, connections are refused. */
  readonly hasEndpoints: boolean
  /** In lexical order of `address:port`, without duplicates; empty also where no policy asks for them. */
  readonly clusterEndpoints: readonly FrontendEndpoint[]
  /** The endpoints on this node, for `Local` traffic policies. */
  readonly localEndpoints: readonly FrontendEndpoint[]
}

export interface FrontendEndpoint {
  readonly address: Ip
  readonly port: number
}

/** Whether the frontend has any address beside the cluster IP. */
export function isExternal(frontend: Pick<Frontend, 'nodePort' | 'externalIps' | 'loadBalancerVips'>): boolean {
  const { nodePort, externalIps, loadBalancerVips } = frontend
  return nodePort !== undefined || externalIps.length > 0 || loadBalancerVips.length > 0
}
