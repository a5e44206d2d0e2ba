import type { Cidr, Ip, IpFamily } from '../model/ip.ts'

/** Detection of traffic of this cluster's pods (kube-proxy's `detectLocalMode`). */
export type LocalTraffic =
  /** Local traffic has a source address in this network: the network of all pods, or this node's part of it. */
  | { readonly kind: 'source'; readonly cidr: Cidr }
  /** Local traffic arrives on this interface: a bridge, or (with `isPrefix`) all interfaces with this prefix. */
  | { readonly kind: 'interface'; readonly name: string; readonly isPrefix: boolean }

/** Settings that shape every Service's rules of one family. An absent one has the documented default. */
export interface ProxyRuleSettings {
  readonly family: IpFamily
  /** Traffic to a cluster IP that is not local is masqueraded; without it, none is. */
  readonly localTraffic?: LocalTraffic
  /** All traffic to cluster IPs is masqueraded; off. */
  readonly masqueradeAll?: boolean
  /** Which bit of the packet mark asks for masquerading, 0 to 31; 14. */
  readonly masqueradeBit?: number
  /** Source ports of masqueraded traffic are picked at random, against collisions; on. */
  readonly randomFully?: boolean
  /** This node's own addresses of this family, for source ranges that hold the node; none. */
  readonly nodeIps?: readonly Ip[]
  /** Where node ports are open: these addresses of this node; all but loopback. */
  readonly nodePortAddresses?: readonly Ip[]
  /** For a `Local` traffic policy without local endpoints; drop. */
  readonly noLocalEndpoints?: 'drop' | 'reject'
  /** Forwarded packets that conntrack cannot place are dropped; on. Off where `nf_conntrack_tcp_be_liberal` is set. */
  readonly dropInvalid?: boolean
  /** Networks of pods: what comes from them or goes to them is forwarded, whatever the policy of FORWARD is; none. */
  readonly acceptedPods?: readonly Cidr[]
  readonly affinity?: AffinitySettings
}

export interface AffinitySettings {
  /** Memory of clients: `recent` keeps `ip_list_tot` per endpoint (100 by default), `ipset` 65,536; default `recent`. */
  readonly form: 'recent' | 'ipset'
  /** The timeout counts from the first connection instead of the newest; off. */
  readonly isHard: boolean
}
