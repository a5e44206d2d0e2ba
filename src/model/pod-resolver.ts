import type { Ip } from './ip.ts'
import {
  type LimitedResolverConfig,
  limitResolverConfig,
  type ResolverConfig,
  renderResolverConfig,
} from './resolver-config.ts'

export type DnsPolicy = 'ClusterFirst' | 'Default' | 'ClusterFirstWithHostNet' | 'None'

/** `spec.dnsConfig` of a pod; the strings are as they came. */
export interface PodDnsConfig {
  readonly nameservers?: readonly Ip[]
  readonly searches?: readonly string[]
  readonly options?: readonly { readonly name: string; readonly value?: string }[]
}

/** What of a pod decides where it looks names up (spec 2.11). */
export interface PodDns {
  readonly namespace: string
  readonly hostNetwork: boolean
  /** ClusterFirst when absent. */
  readonly dnsPolicy?: DnsPolicy
  readonly dnsConfig?: PodDnsConfig
}

export interface ClusterDns {
  /** Where the cluster's names are answered, `10.96.0.10` as a rule. */
  readonly nameservers: readonly Ip[]
  /** `cluster.local` as a rule. */
  readonly domain: string
}

export interface PodResolver {
  /** The pod's /etc/resolv.conf. */
  readonly text: string
  readonly config: ResolverConfig
  /** What was left out and why, one sentence each. */
  readonly problems: readonly string[]
}

/** A pod's resolver file, from its policy, its own `dnsConfig` and the host's file. */
export function planPodResolver(pod: PodDns, cluster: ClusterDns, host: ResolverConfig): PodResolver {
  const chosen = withDnsConfig(configByPolicy(pod, cluster, host), pod.dnsConfig ?? {})
  const { config, problems }: LimitedResolverConfig = limitResolverConfig(chosen)
  return { text: renderResolverConfig(config), config, problems }
}

/** With the host's network, ClusterFirst is what the host does: only ClusterFirstWithHostNet asks the cluster there. */
function configByPolicy(pod: PodDns, cluster: ClusterDns, host: ResolverConfig): ResolverConfig {
  const policy = pod.dnsPolicy ?? 'ClusterFirst'
  if (policy === 'None') return { nameservers: [], searches: [], options: [] }
  if (policy === 'Default' || (policy === 'ClusterFirst' && pod.hostNetwork)) return host
  const own = [`${pod.namespace}.svc.${cluster.domain}`, `svc.${cluster.domain}`, cluster.domain]
  return { nameservers: cluster.nameservers, searches: [...own, ...host.searches], options: ['ndots:5'] }
}

/** The pod's own nameservers and searches come after those of the policy; its option replaces one of the same name. */
function withDnsConfig(base: ResolverConfig, own: PodDnsConfig): ResolverConfig {
  const options = new Map(base.options.map((option) => [option.replace(/:.*$/, ''), option]))
  for (const { name, value } of own.options ?? [])
    options.set(name, value === undefined || value === '' ? name : `${name}:${value}`)
  return {
    nameservers: [...base.nameservers, ...(own.nameservers ?? [])],
    searches: [...base.searches, ...(own.searches ?? [])],
    options: [...options.values()],
  }
}
