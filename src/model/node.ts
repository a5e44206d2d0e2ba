import type { Cidr, Ip } from './ip.ts'

/** This node as the API knows it, as far as it shapes the node's own work. */
export interface Node {
  readonly name: string
  /** Internal addresses before external ones. */
  readonly addresses: readonly Ip[]
  /** The networks of its pods, one of each family at most. */
  readonly podCidrs: readonly Cidr[]
  readonly zone?: string
  /** It is being deleted, or an autoscaler has said that it will be: load balancers should send it nothing new. */
  readonly isLeaving: boolean
}
