import type {
  IpBlock,
  Labels,
  NamedPort,
  NetworkPolicy,
  PodPeer,
  PolicyCluster,
  PolicyPod,
  PolicyPort,
} from '../../src/model/network-policy.ts'
import type { LabelSelector } from '../../src/model/selector.ts'
import type { Protocol } from '../../src/model/service.ts'
import { cidrOf, ipOf } from './addresses.ts'

export interface ClusterObjects {
  readonly policies?: readonly NetworkPolicy[]
  readonly pods?: readonly PolicyPod[]
  readonly namespaces?: Readonly<Record<string, Labels>>
}

export function clusterOf({ policies = [], pods = [], namespaces = {} }: ClusterObjects): PolicyCluster {
  return {
    policies: () => policies,
    pods: () => pods,
    namespaceLabels: (namespace) => (Object.hasOwn(namespaces, namespace) ? namespaces[namespace] : undefined),
  }
}

/** A selector that wants these labels. */
export function selects(labels: Labels): LabelSelector {
  return Object.entries(labels).map(([key, value]) => ({ key, operator: 'in', values: [value] }))
}

/** `policyOf('x/deny', { ingress: [] })`; it selects all pods of its namespace unless it says otherwise. */
export function policyOf(
  key: string,
  parts: Partial<Pick<NetworkPolicy, 'podSelector' | 'ingress' | 'egress'>>,
): NetworkPolicy {
  const [namespace = '', name = ''] = key.split('/')
  return { key, namespace, name, podSelector: [], ...parts }
}

/** `podOf('x/a', ['10.244.0.1'])`; local, with the label `pod: a`. */
export function podOf(key: string, ips: readonly string[], parts: Partial<PolicyPod> = {}): PolicyPod {
  const [namespace = '', name = ''] = key.split('/')
  return { key, namespace, labels: { pod: name }, ips: ips.map(ipOf), isLocal: true, ports: [], ...parts }
}

export function podsPeer(pods: Labels, namespaces?: Labels): PodPeer {
  return { kind: 'pods', pods: selects(pods), ...(namespaces !== undefined && { namespaces: selects(namespaces) }) }
}

export function ipBlock(cidr: string, ...except: readonly string[]): IpBlock {
  return { kind: 'ip-block', cidr: cidrOf(cidr), except: except.map(cidrOf) }
}

/** A port number, or a range of them. */
export function portRange(first: number, last = first, protocol: Protocol = 'TCP'): PolicyPort {
  return { kind: 'range', protocol, first, last }
}

export function portNamed(name: string, protocol: Protocol = 'TCP'): PolicyPort {
  return { kind: 'name', protocol, name }
}

export function namedPort(name: string, port: number, protocol: Protocol = 'TCP'): NamedPort {
  return { name, protocol, port }
}
