import type { Ip } from '../model/ip.ts'
import type { Protocol } from '../model/service.ts'

/** One port of one Service in one IP family: the ways in, and where they lead. */
export interface Frontend {
  /** `namespace/name:port`, or `namespace/name` for the port without a name; unique together with the protocol. */
  readonly servicePort: string
  readonly protocol: Protocol
  readonly clusterIp: Ip
  readonly port: number
  /** On every address of this node but loopback. */
  readonly nodePort?: number
  /** Present for `sessionAffinity: ClientIP`. */
  readonly affinity?: { readonly timeoutSeconds: number }
  /** In lexical order of `address:port`, without duplicates. Empty means that nothing can answer: connections are refused. */
  readonly clusterEndpoints: readonly FrontendEndpoint[]
  /** The same for the endpoints on this node, for `Local` traffic policies. */
  readonly localEndpoints: readonly FrontendEndpoint[]
}

export interface FrontendEndpoint {
  readonly address: Ip
  readonly port: number
}
