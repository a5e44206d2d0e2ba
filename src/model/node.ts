import type { Cidr, Ip } from './ip.ts'

/** The fields of this node's Node object that affect the node's own work. */
export interface Node {
  readonly name: string
  /** Internal addresses before external ones. */
  readonly addresses: readonly Ip[]
  /** The networks of its pods, one of each family at most. */
  readonly podCidrs: readonly Cidr[]
  readonly zone?: string
  /** True if the Node is being deleted or an autoscaler has announced that: load balancers should send it no new traffic. */
  readonly isLeaving: boolean
}

const ownMark = '+platnet'

/** Returns `kubeletVersion` of a Node whose pods this program runs: semantic versioning with build metadata, as of other distributions. */
export function agentVersion(version: string): string {
  return `v${version}${ownMark}`
}

/** Tells whether a kubelet wrote this `kubeletVersion`; it is empty where neither a kubelet nor an agent did. */
export function isKubeletVersion(version: string): boolean {
  return version !== '' && !version.includes(ownMark)
}
