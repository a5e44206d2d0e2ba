import type { DnsPlane } from '../../node/dns/index.ts'
import type { MetricSample } from '../../observe/index.ts'
import type { AppContext } from '../context.ts'

/** Answer of `GET /counters` on the control socket: totals since the start of the agent. */
export interface AgentCounters {
  /** Monotonic milliseconds of the agent. */
  readonly atMs: number
  readonly dnsAnswers: number
  readonly ingressRequests: number
  readonly serviceSyncs: number
  readonly policySyncs: number
  readonly deniedPackets: number
  readonly cpuSeconds: number
  readonly residentBytes: number
}

const metricOf = {
  dnsAnswers: 'coredns_dns_responses_total',
  ingressRequests: 'platnet_ingress_requests_total',
  serviceSyncs: 'kubeproxy_sync_proxy_rules_duration_seconds_count',
  policySyncs: 'platnet_policy_sync_duration_seconds_count',
  deniedPackets: 'platnet_policy_denied_packets_total',
  cpuSeconds: 'process_cpu_seconds_total',
  residentBytes: 'process_resident_memory_bytes',
} as const satisfies Record<Exclude<keyof AgentCounters, 'atMs'>, string>

/** Adds up the samples of each counter over all its labels. */
export async function readCounters(
  context: Pick<AppContext, 'metrics'>,
  dns: Pick<DnsPlane, 'read'> | undefined,
): Promise<AgentCounters> {
  // A part of a histogram is read with the whole.
  const names = Object.values(metricOf).map((name) => name.replace(/_seconds_count$/, '_seconds'))
  const samples = await readMetrics(context, dns, names)
  const total = (metric: string) =>
    samples.filter(({ name }) => name === metric).reduce((sum, { value }) => sum + value, 0)
  return {
    atMs: performance.now(),
    dnsAnswers: total(metricOf.dnsAnswers),
    ingressRequests: total(metricOf.ingressRequests),
    serviceSyncs: total(metricOf.serviceSyncs),
    policySyncs: total(metricOf.policySyncs),
    deniedPackets: total(metricOf.deniedPackets),
    cpuSeconds: total(metricOf.cpuSeconds),
    residentBytes: total(metricOf.residentBytes),
  }
}

/** Reads metrics of this process and of the threads of DNS, by name. */
export async function readMetrics(
  { metrics }: Pick<AppContext, 'metrics'>,
  dns: Pick<DnsPlane, 'read'> | undefined,
  names: readonly string[],
): Promise<readonly MetricSample[]> {
  const isOfDns = (name: string) => name.startsWith('coredns_')
  const [own, ofDns] = await Promise.all([
    metrics.read(names.filter((name) => !isOfDns(name))),
    dns?.read([...names.filter(isOfDns)]) ?? [],
  ])
  return [...own, ...ofDns]
}
