import type { Ip } from './ip.ts'
import {
  type LimitedResolverConfig,
  limitResolverConfig,
  type ResolverConfig,
  renderResolverConfig,
} from './resolver-config.ts'

type DnsPolicy = 'ClusterFirst' | 'Default' | 'ClusterFirstWithHostNet' | 'None'

/** `spec.dnsConfig` of a pod; the strings are not validated. */
interface PodDnsConfig {
  readonly nameservers?: readonly Ip[]
  readonly searches?: readonly string[]
  readonly options?: readonly { readonly name: string; readonly value?: string }[]
}

/** The fields of a pod that decide which resolver it uses (spec 2.11). */
export interface PodDns {
  readonly namespace: string
  readonly hostNetwork: boolean
  /** `ClusterFirst` if absent. */
  readonly dnsPolicy?: DnsPolicy
  readonly dnsConfig?: PodDnsConfig
}

export interface ClusterDns {
  /** The addresses of cluster DNS, by default `10.96.0.10`. */
  readonly nameservers: readonly Ip[]
  /** The zone of the cluster, by default `cluster.local`. */
  readonly domain: string
}

export interface PodResolver {
  /** The pod's /etc/resolv.conf. */
  readonly text: string
  readonly config: ResolverConfig
  /** One sentence for each omission, with its reason. */
  readonly problems: readonly string[]
}

/** Builds a pod's resolver file from its policy, its own `dnsConfig` and the host's file. */
export function planPodResolver(pod: PodDns, cluster: ClusterDns, host: ResolverConfig): PodResolver {
  const chosen = withDnsConfig(configByPolicy(pod, cluster, host), pod.dnsConfig ?? {})
  const { config, problems }: LimitedResolverConfig = limitResolverConfig(chosen)
  return { text: renderResolverConfig(config), config, problems }
}

/** Resolves the policy of a pod on the host's network: there `ClusterFirst` means `Default`, only `ClusterFirstWithHostNet` asks the cluster. */
function configByPolicy(pod: PodDns, cluster: ClusterDns, host: ResolverConfig): ResolverConfig {
  const policy = pod.dnsPolicy ?? 'ClusterFirst'
  if (policy === 'None') return { nameservers: [], searches: [], options: [] }
  if (policy === 'Default' || (policy === 'ClusterFirst' && pod.hostNetwork)) return host
  const own = [`${pod.namespace}.svc.${cluster.domain}`, `svc.${cluster.domain}`, cluster.domain]
  return { nameservers: cluster.nameservers, searches: [...own, ...host.searches], options: ['ndots:5'] }
}

/** Adds the pod's own nameservers and searches after those of the policy; its options replace options of the same name. */
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
