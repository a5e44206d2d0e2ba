import type { ObjectKey } from './api-object.ts'
import type { Ip, IpFamily } from './ip.ts'
import type { Protocol } from './service.ts'

/** A part of a Service's endpoints as this node uses it (spec 2.7); an Endpoints object becomes one of these per family and subset. */
export interface EndpointSlice {
  /** `namespace/name` of the object it came from, with the resource in front: `endpointslices/default/web-x7k2p`. */
  readonly source: string
  readonly service: ObjectKey
  readonly family: IpFamily
  /** No proxy's (label `headless`), or another proxy's than ours (label `service-proxy-name`): it is there for names only. */
  readonly namesOnly?: true
  readonly ports: readonly EndpointPort[]
  readonly endpoints: readonly Endpoint[]
}

export interface EndpointPort {
  readonly name: string
  readonly protocol: Protocol
  readonly port: number
}

export interface Endpoint {
  /** Where it is reached. */
  readonly address: Ip
  /** Further addresses of the same endpoint, which have names and, as in kube-proxy, no traffic. */
  readonly otherAddresses?: readonly Ip[]
  /** Absent conditions are already resolved: ready and serving default to true, terminating to false. */
  readonly ready: boolean
  readonly serving: boolean
  readonly terminating: boolean
  readonly nodeName?: string
  readonly hostname?: string
  readonly zone?: string
  /** The zones and nodes that should use this endpoint (KEP-2433, KEP-3015); empty lists mean no hint. */
  readonly hints?: { readonly zones: readonly string[]; readonly nodes: readonly string[] }
  /** `Pod default/web-1`, for messages. */
  readonly target?: string
}
