import type { Cidr, Ip, IpFamily } from '../../model/ip.ts'

/** Everything beside the objects that shapes the rules of NetworkPolicy. Addresses of the other family are left out. */
export interface PolicyRuleSettings {
  readonly family: IpFamily
  /** Addresses of the cluster DNS that this node answers: what pods send there is judged in INPUT. */
  readonly dnsAddresses: readonly Ip[]
  /** The networks of this node's pods. */
  readonly podCidrs: readonly Cidr[]
  /** Whether an address of these networks that no known pod has may neither send nor receive. */
  readonly isolatesUnknown: boolean
  /** Whether each denied flow is kept for a minute where it can be read. */
  readonly logsDenied: boolean
}
