import type { ObjectKey } from './api-object.ts'
import type { Cidr, Ip } from './ip.ts'
import type { LabelSelector } from './selector.ts'
import type { Protocol } from './service.ts'

/** A NetworkPolicy in the form that this node uses: parsed once at the edge, defaults applied (spec 2.8). */
export interface NetworkPolicy {
  readonly key: ObjectKey
  readonly namespace: string
  readonly name: string
  /** Pods of the policy's namespace; an empty selector matches all of them. */
  readonly podSelector: LabelSelector
  /** Present if the policy isolates its pods for incoming traffic; an empty list then allows none. */
  readonly ingress?: readonly PolicyRule[]
  /** Present if the policy isolates its pods for outgoing traffic; an empty list then allows none. */
  readonly egress?: readonly PolicyRule[]
}

/** Allows traffic that matches a peer and a port. A peer or port that cannot be read keeps its place and matches nothing. */
export interface PolicyRule {
  /** Absent allows every peer; an empty list in the API object is absent here, so a list is never empty. */
  readonly peers?: readonly PolicyPeer[]
  /** Absent allows every protocol and port; an empty list in the API object is absent here, so a list is never empty. */
  readonly ports?: readonly PolicyPort[]
}

export type PolicyPeer = PodPeer | IpBlock

export interface PodPeer {
  readonly kind: 'pods'
  /** Absent: pods of the policy's own namespace. */
  readonly namespaces?: LabelSelector
  readonly pods: LabelSelector
}

export interface IpBlock {
  readonly kind: 'ip-block'
  readonly cidr: Cidr
  /** Networks inside `cidr` that this entry does not allow; another entry may. */
  readonly except: readonly Cidr[]
}

export type PolicyPort =
  /** All ports of the protocol. */
  | { readonly kind: 'protocol'; readonly protocol: Protocol }
  /** Both ends included. */
  | { readonly kind: 'range'; readonly protocol: Protocol; readonly first: number; readonly last: number }
  /**
   * A port of this name and protocol of the destination pod. In an egress rule it matches through a pod peer or an absent list of
   * peers only: the addresses of an ipBlock have no named ports.
   */
  | { readonly kind: 'name'; readonly protocol: Protocol; readonly name: string }

export type Labels = Readonly<Record<string, string>>

/** A pod as NetworkPolicy sees it. Finished pods (Succeeded, Failed) and pods of the host network are no such pods. */
export interface PolicyPod {
  readonly key: ObjectKey
  readonly namespace: string
  readonly labels: Labels
  /** Hardly ever more than one address of a family; empty until the pod's network is announced or its status is written. */
  readonly ips: readonly Ip[]
  /** Whether the pod runs on this node. */
  readonly isLocal: boolean
  readonly ports: readonly NamedPort[]
  /** The node has announced its addresses and its object is not known: nothing may reach it and it may reach nothing. */
  readonly isUnknown?: true
}

export interface NamedPort {
  readonly name: string
  readonly protocol: Protocol
  readonly port: number
}

/** The objects that decide who may reach whom, as the evaluator and the planner read them. */
export interface PolicyCluster {
  policies(): Iterable<NetworkPolicy>
  pods(): Iterable<PolicyPod>
  /** Undefined if the namespace is not known: then no namespace selector matches it, also an empty one. */
  namespaceLabels(namespace: string): Labels | undefined
}

/** What differs from the step before: new versions by key, undefined for what is gone. A pod that lost its address to another is in it. */
export interface PolicyChanges {
  readonly policies: ReadonlyMap<ObjectKey, NetworkPolicy | undefined>
  readonly pods: ReadonlyMap<ObjectKey, PolicyPod | undefined>
  /** Labels by name of the namespace. */
  readonly namespaces: ReadonlyMap<string, Labels | undefined>
}
