/** A chart on the overview: its series share one unit. */
export interface ChartSpec {
  readonly id: string
  readonly title: string
  readonly unit: 'per second' | 'ms' | 'count' | 'MiB' | 'percent'
  readonly series: readonly SeriesSpec[]
}

/** Meaning of a colour: the page chooses the colour for light and dark. */
type Tone = 'main' | 'second' | 'third' | 'good' | 'warn' | 'bad'

/**
 * One line of a chart. `rate`: growth of a counter by second; `mean` and `p99`: of the observations of a histogram since the last sample;
 * `gauge`: the value. Samples of all matching labels are added up.
 */
export interface SeriesSpec {
  readonly label: string
  readonly tone: Tone
  readonly kind: 'rate' | 'mean' | 'p99' | 'gauge'
  readonly metric: string
  readonly where?: (labels: Readonly<Record<string, string>>) => boolean
  /** Factor from the metric's unit to that of the chart. */
  readonly scale?: number
}

const memory: ChartSpec = {
  id: 'memory',
  title: 'Resident memory',
  unit: 'MiB',
  series: [
    { label: 'resident', tone: 'main', kind: 'gauge', metric: 'process_resident_memory_bytes', scale: 2 ** -20 },
  ],
}

const processor: ChartSpec = {
  id: 'cpu',
  title: 'Processor (of one core)',
  unit: 'percent',
  series: [
    { label: 'user', tone: 'main', kind: 'rate', metric: 'process_cpu_user_seconds_total', scale: 100 },
    { label: 'system', tone: 'second', kind: 'rate', metric: 'process_cpu_system_seconds_total', scale: 100 },
  ],
}

/** Mean and 99th percentile of a histogram of seconds, in milliseconds. */
function latency(metric: string, where?: SeriesSpec['where']): readonly SeriesSpec[] {
  const common = { metric, scale: 1000, ...(where && { where }) }
  return [
    { label: 'mean', tone: 'main', kind: 'mean', ...common },
    { label: '99 %', tone: 'warn', kind: 'p99', ...common },
  ]
}

function rate(label: string, tone: Tone, metric: string, where?: SeriesSpec['where']): SeriesSpec {
  return { label, tone, kind: 'rate', metric, ...(where && { where }) }
}

const dnsResponses = 'coredns_dns_responses_total'
const denied = 'platnet_policy_denied_packets_total'
const ingressRequests = 'platnet_ingress_requests_total'
const syncDuration = 'kubeproxy_sync_proxy_rules_duration_seconds'

/** The charts of one node. */
export const nodeCharts: readonly ChartSpec[] = [
  { id: 'sync', title: 'Sync latency (Services)', unit: 'ms', series: latency(syncDuration) },
  {
    id: 'syncs',
    title: 'Syncs',
    unit: 'per second',
    series: [
      rate('Services', 'main', `${syncDuration}_count`),
      rate('policies', 'second', 'platnet_policy_sync_duration_seconds_count'),
      rate('failures', 'bad', 'kubeproxy_sync_proxy_rules_iptables_restore_failures_total'),
    ],
  },
  {
    id: 'dns',
    title: 'DNS answers',
    unit: 'per second',
    series: [
      rate('NOERROR', 'good', dnsResponses, ({ rcode }) => rcode === 'NOERROR'),
      rate('NXDOMAIN', 'second', dnsResponses, ({ rcode }) => rcode === 'NXDOMAIN'),
      rate('failures', 'bad', dnsResponses, ({ rcode }) => rcode !== 'NOERROR' && rcode !== 'NXDOMAIN'),
    ],
  },
  { id: 'dns-latency', title: 'DNS latency', unit: 'ms', series: latency('coredns_dns_request_duration_seconds') },
  {
    id: 'denials',
    title: 'Denied packets',
    unit: 'per second',
    series: [
      rate('ingress', 'bad', denied, ({ direction }) => direction === 'ingress'),
      rate('egress', 'warn', denied, ({ direction }) => direction === 'egress'),
    ],
  },
  {
    id: 'ingress',
    title: 'Ingress requests',
    unit: 'per second',
    series: [
      rate('2xx, 3xx', 'good', ingressRequests, ({ code }) => /^[123]/.test(code ?? '')),
      rate('4xx', 'warn', ingressRequests, ({ code }) => /^4/.test(code ?? '')),
      rate('5xx', 'bad', ingressRequests, ({ code }) => /^5/.test(code ?? '')),
    ],
  },
  processor,
  memory,
]

const apiRequests = 'apiserver_request_total'
const isRead = (verb = '') => ['GET', 'LIST', 'get', 'list'].includes(verb)
const isWatch = (verb = '') => /^(watch|watchlist|connect)$/i.test(verb)
const isError = (code = '') => /^5|^429$/.test(code)

/** The charts of the API server and its store. */
export const clusterCharts: readonly ChartSpec[] = [
  {
    id: 'requests',
    title: 'API requests',
    unit: 'per second',
    series: [
      rate('reads', 'main', apiRequests, ({ verb, code }) => isRead(verb) && !isError(code)),
      rate('writes', 'second', apiRequests, ({ verb, code }) => !isRead(verb) && !isWatch(verb) && !isError(code)),
      rate('errors', 'bad', apiRequests, ({ code }) => isError(code)),
    ],
  },
  {
    id: 'request-latency',
    title: 'API latency',
    unit: 'ms',
    series: latency('apiserver_request_duration_seconds', ({ verb }) => !isWatch(verb)),
  },
  { id: 'commits', title: 'Commit latency', unit: 'ms', series: latency('etcd_request_duration_seconds') },
  {
    id: 'events',
    title: 'Watch events sent',
    unit: 'per second',
    series: [rate('events', 'main', 'apiserver_watch_events_total')],
  },
  {
    id: 'watches',
    title: 'Open watches',
    unit: 'count',
    series: [{ label: 'watches', tone: 'main', kind: 'gauge', metric: 'apiserver_longrunning_requests' }],
  },
  {
    id: 'objects',
    title: 'Objects in the store',
    unit: 'count',
    series: [{ label: 'objects', tone: 'main', kind: 'gauge', metric: 'apiserver_storage_objects' }],
  },
  processor,
  memory,
]
