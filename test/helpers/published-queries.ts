/** A query of a dashboard or alert that others published, as data: the metric, how it is summed up and by which labels. */
interface PublishedPanel {
  readonly metric: string
  /** A rate of a counter, the 99th percentile of a histogram, or the values themselves. */
  readonly kind: 'rate' | 'quantile' | 'value'
  readonly by?: readonly string[]
  readonly where?: string
}

interface PublishedDashboard {
  readonly source: string
  readonly job: string
  readonly panels: readonly PublishedPanel[]
}

const value = (metric: string, ...by: readonly string[]): PublishedPanel => ({ metric, kind: 'value', by })
const rate = (metric: string, by: readonly string[] = [], where = ''): PublishedPanel => ({
  metric,
  kind: 'rate',
  by,
  where,
})
const quantile = (metric: string, by: readonly string[] = [], where = ''): PublishedPanel => ({
  metric,
  kind: 'quantile',
  by,
  where,
})

const processPanels = [
  value('up'),
  value('process_resident_memory_bytes', 'instance'),
  rate('process_cpu_seconds_total', ['instance']),
  value('go_goroutines', 'instance'),
]

const clientPanels = [
  ...['2..', '3..', '4..', '5..'].map((code) => rate('rest_client_requests_total', [], `code=~"${code}"`)),
  quantile('rest_client_request_duration_seconds', ['verb', 'url'], 'verb="POST"'),
  quantile('rest_client_request_duration_seconds', ['verb', 'url'], 'verb="GET"'),
]

/** The queries of the dashboards in kubernetes-mixin (proxy, controller manager, scheduler, API server), read in November 2026. */
const kubernetesMixin: readonly PublishedDashboard[] = [
  {
    source: 'kubernetes-mixin: Proxy',
    job: 'kube-proxy',
    panels: [
      ...processPanels,
      ...clientPanels,
      rate('kubeproxy_sync_proxy_rules_duration_seconds_count'),
      quantile('kubeproxy_sync_proxy_rules_duration_seconds', ['instance']),
      rate('kubeproxy_network_programming_duration_seconds_count'),
      quantile('kubeproxy_network_programming_duration_seconds', ['instance']),
    ],
  },
  {
    source: 'kubernetes-mixin: Controller Manager',
    job: 'kube-controller-manager',
    panels: [
      ...processPanels,
      ...clientPanels,
      rate('workqueue_adds_total', ['instance', 'name']),
      rate('workqueue_depth', ['instance', 'name']),
      quantile('workqueue_queue_duration_seconds', ['instance', 'name']),
    ],
  },
  {
    source: 'kubernetes-mixin: Scheduler',
    job: 'kube-scheduler',
    panels: [
      ...processPanels,
      ...clientPanels,
      rate('scheduler_scheduling_attempt_duration_seconds_count', ['instance']),
      quantile('scheduler_scheduling_attempt_duration_seconds', ['instance']),
      rate('scheduler_scheduling_algorithm_duration_seconds_count', ['instance']),
      quantile('scheduler_scheduling_algorithm_duration_seconds', ['instance']),
      value('scheduler_pending_pods', 'queue'),
      rate('scheduler_e2e_scheduling_duration_seconds_count', ['instance']),
      rate('scheduler_binding_duration_seconds_count', ['instance']),
      rate('scheduler_volume_scheduling_duration_seconds_count', ['instance']),
    ],
  },
  {
    source: 'kubernetes-mixin: API server',
    job: 'kube-apiserver',
    panels: [
      ...processPanels,
      rate('apiserver_request_total', ['code', 'resource'], 'verb=~"LIST|GET"'),
      rate('apiserver_request_total', ['code', 'resource'], 'verb=~"POST|PUT|PATCH|DELETE"'),
      quantile(
        'apiserver_request_sli_duration_seconds',
        ['resource'],
        'verb=~"LIST|GET",subresource!~"proxy|log|exec"',
      ),
      quantile('apiserver_request_sli_duration_seconds', ['resource'], 'verb=~"POST|PUT|PATCH|DELETE"'),
      rate('apiserver_request_sli_duration_seconds_bucket', [], 'scope=~"resource|",le=~"1(\\\\.0)?"'),
      rate('apiserver_request_sli_duration_seconds_bucket', [], 'scope="cluster",le=~"30(\\\\.0)?"'),
      quantile('apiserver_request_duration_seconds', ['verb']),
      value('apiserver_current_inflight_requests', 'request_kind'),
      value('apiserver_storage_objects', 'resource'),
      rate('workqueue_adds_total', ['instance', 'name']),
    ],
  },
]

/** The queries of CoreDNS' dashboards (coredns-mixin; those of before and after CoreDNS 1.12) and of its alerts. */
const coreDns: PublishedDashboard = {
  source: 'coredns-mixin: CoreDNS',
  job: 'kube-dns',
  panels: [
    ...processPanels,
    value('coredns_build_info', 'instance'),
    value('coredns_panics_total'),
    value('coredns_plugin_enabled', 'name'),
    rate('coredns_dns_requests_total', ['type']),
    rate('coredns_dns_requests_total', ['zone']),
    rate('coredns_dns_requests_total', ['proto', 'family']),
    rate('coredns_dns_do_requests_total', ['server', 'zone']),
    rate('coredns_dns_responses_total', ['rcode']),
    rate('coredns_dns_responses_total', ['plugin']),
    quantile('coredns_dns_request_duration_seconds', ['server', 'zone']),
    quantile('coredns_dns_request_size_bytes', ['server', 'zone', 'proto']),
    quantile('coredns_dns_response_size_bytes', ['server', 'zone', 'proto']),
    value('coredns_cache_entries', 'type'),
    rate('coredns_cache_hits_total', ['type']),
    rate('coredns_cache_misses_total'),
    rate('coredns_cache_requests_total', ['server']),
    rate('coredns_forward_requests_total', ['to']),
    rate('coredns_forward_responses_total', ['rcode']),
    quantile('coredns_forward_request_duration_seconds', ['to']),
    quantile('coredns_proxy_request_duration_seconds', ['proxy_name', 'to', 'rcode']),
    rate('coredns_proxy_conn_cache_hits_total', ['proto']),
    rate('coredns_forward_healthcheck_broken_total'),
    rate('coredns_forward_healthcheck_failures_total', ['to']),
    rate('coredns_forward_max_concurrent_rejects_total'),
    rate('coredns_proxy_healthcheck_failures_total', ['to']),
    quantile('coredns_kubernetes_dns_programming_duration_seconds', ['service_kind']),
    quantile('coredns_health_request_duration_seconds'),
    value('coredns_reload_failed_total'),
    value('coredns_reload_version_info', 'hash'),
  ],
}

/** What rightly gives no data, by a part of the query, and the reason. */
export const emptyPublished: Readonly<Record<string, string>> = {
  go_goroutines: 'there is no Go runtime; nodejs_active_resources is nearest',
  scheduler_e2e_scheduling_duration_seconds: 'Kubernetes removed it in 1.23',
  scheduler_binding_duration_seconds: 'Kubernetes removed it in 1.23',
  scheduler_volume_scheduling_duration_seconds: 'there are no volumes to schedule',
  'workqueue_adds_total{job="kube-apiserver"}': 'the queues are those of the controller manager',
  'job="kube-scheduler",verb="GET"': 'it watched before the first scrape, and only writes since',
  'code=~"3.."': 'no server redirects our clients',
  'code=~"5.."': 'no request failed',
}

function exprOf(job: string, { metric, kind, by = [], where = '' }: PublishedPanel): string {
  const suffix = kind === 'quantile' ? '_bucket' : ''
  const series = `${metric}${suffix}{job="${job}"${where === '' ? '' : `,${where}`}}`
  const labels = [...by, ...(kind === 'quantile' ? ['le'] : [])]
  const sum = `sum by (${labels.join(', ')}) (${kind === 'value' ? series : `rate(${series}[5m])`})`
  return kind === 'quantile' ? `histogram_quantile(0.99, ${sum})` : sum
}

export const publishedQueries = [...kubernetesMixin, coreDns].flatMap(({ source, job, panels }) =>
  panels.map((panel) => ({ source, expr: exprOf(job, panel) })),
)
