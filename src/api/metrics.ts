import type { MetricSpec } from '../model/metric-spec.ts'
import type { Metrics } from '../observe/index.ts'
import { countObjects } from './count-objects.ts'
import type { Registry } from './resources/registry.ts'
import type { Route } from './route/route.ts'
import type { InFlight } from './shares/in-flight.ts'
import type { Store } from './store/index.ts'
import type { EventCounts } from './watch/event-counts.ts'

const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
]

/** kube-apiserver's, for rules on service levels. */
const levelBuckets = [0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60]

const sizeBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

/** The requests to etcd: transactions, reads (also those of the newest revision alone), compactions, questions for the version. */
const etcdOperations = ['txn', 'range', 'compact', 'status'] as const

/** The values that each scrape reads. */
interface Sources {
  readonly inFlight: InFlight
  readonly eventCounts: EventCounts
  readonly store: Store
  readonly registry: Registry
}

interface Answered {
  /** The route; undefined where the request failed before routing. */
  readonly route: Route | undefined
  readonly code: number
  readonly durationMs: number
  /** The size of the body as sent; undefined where it was sent in pieces. */
  readonly sizeBytes: number | undefined
}

const verbLabels = {
  create: 'POST',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  get: 'GET',
  list: 'LIST',
  patch: 'PATCH',
  update: 'PUT',
  watch: 'WATCH',
  connect: 'CONNECT',
} as const

const labels = {
  verb: Object.values(verbLabels),
  group: 'resources',
  version: 'resources',
  resource: 'resources',
  subresource: 'resources',
  scope: ['', 'cluster', 'namespace', 'resource'],
} as const
type RequestLabels = Readonly<Record<keyof typeof labels, string>>

/** The metrics of the API server. Those that kube-apiserver also has carry the names, labels and buckets from there. */
export const apiMetrics = {
  total: {
    type: 'counter',
    name: 'apiserver_request_total',
    help: 'Requests answered.',
    labels: { ...labels, code: 'codes' },
  },
  duration: {
    type: 'histogram',
    name: 'apiserver_request_duration_seconds',
    help: 'Time from the first byte of a request to the end of its answer, watches left out.',
    labels,
    buckets: durationBuckets,
  },
  levelDuration: {
    type: 'histogram',
    name: 'apiserver_request_sli_duration_seconds',
    help: 'Time from the first byte of a request to the end of its answer, watches and connections left out, for rules on service levels.',
    labels,
    buckets: levelBuckets,
  },
  size: {
    type: 'histogram',
    name: 'apiserver_response_sizes',
    help: 'Bytes in the bodies of answers to get and list.',
    labels,
    buckets: sizeBuckets,
  },
  longRunning: {
    type: 'gauge',
    name: 'apiserver_longrunning_requests',
    help: 'Watches that are open, and connections with pods, Services and nodes.',
    labels,
  },
  inFlight: {
    type: 'gauge',
    name: 'apiserver_current_inflight_requests',
    help: 'Requests under way.',
    labels: { request_kind: ['readOnly', 'mutating'] },
  },
  watchEvents: {
    type: 'counter',
    name: 'apiserver_watch_events_total',
    help: 'Events sent to watches.',
    labels: { group: 'resources', version: 'resources', kind: 'resources' },
  },
  storedObjects: {
    type: 'gauge',
    name: 'apiserver_storage_objects',
    help: 'Objects in the store.',
    labels: { resource: 'resources' },
  },
  commits: {
    type: 'histogram',
    name: 'etcd_request_duration_seconds',
    help: "Time from a commit being accepted to it being durable, under the name that dashboards use for etcd's; with --store etcd also of each request to etcd.",
    labels: { operation: ['commit', ...etcdOperations] },
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  },
  storeErrors: {
    type: 'counter',
    name: 'etcd_request_errors_total',
    help: 'Requests to etcd that failed; a read goes on at the next member.',
    labels: { operation: etcdOperations },
  },
} as const satisfies Record<string, MetricSpec>

/** The request metrics that dashboards for Kubernetes expect. Label values come from the served routes, never from a path as sent. */
export class ApiMetrics {
  readonly #total
  readonly #duration
  readonly #levelDuration
  readonly #size
  readonly #longRunning = new LongRunning()
  /** The version of the registry at which gone resources were forgotten last. */
  #prunedAt = 0

  constructor(metrics: Metrics, sources: Sources) {
    this.#total = metrics.counter(apiMetrics.total)
    this.#duration = metrics.histogram(apiMetrics.duration)
    this.#levelDuration = metrics.histogram(apiMetrics.levelDuration)
    this.#size = metrics.histogram(apiMetrics.size)
    metrics.collectedGauge(apiMetrics.longRunning, () => this.#longRunning.samples())
    addCollected(metrics, sources, () => this.#forgetGone(sources.registry))
  }

  /** Forgets custom resources that are not served any more: clients that make definitions would make series without end. */
  async #forgetGone(registry: Registry): Promise<void> {
    if (registry.version === this.#prunedAt) return
    this.#prunedAt = registry.version
    const isServed = ({ group, version, resource }: RequestLabels) =>
      version === '' || registry.find(group, version, resource) !== undefined
    const all = [this.#total, this.#duration, this.#levelDuration, this.#size]
    await Promise.all(all.map((metric) => metric.keepOnly(isServed)))
  }

  observe({ route, code, durationMs, sizeBytes }: Answered): void {
    const values = labelsOf(route)
    this.#total.add(1, { ...values, code: String(code) })
    if (values.verb !== 'WATCH') this.#duration.observe(durationMs / 1000, values)
    if (values.verb !== 'WATCH' && values.verb !== 'CONNECT') this.#levelDuration.observe(durationMs / 1000, values)
    const isRead = route?.kind === 'resource' && (route.verb === 'get' || route.verb === 'list')
    if (isRead && sizeBytes !== undefined) this.#size.observe(sizeBytes, values)
  }

  /** Counts the request as open until the returned function is called. */
  openLongRunning(route: Route): () => void {
    return this.#longRunning.open(labelsOf(route))
  }
}

function addCollected(
  metrics: Metrics,
  { inFlight, eventCounts, store, registry }: Sources,
  forgetGone: () => Promise<void>,
): void {
  metrics.collectedGauge(apiMetrics.inFlight, () => [
    { value: inFlight.reads, labels: { request_kind: 'readOnly' } },
    { value: inFlight.writes, labels: { request_kind: 'mutating' } },
  ])
  metrics.collectedCounter(apiMetrics.watchEvents, () =>
    eventCounts.ofServed(registry.all()).map(({ value, ...names }) => ({ value, labels: names })),
  )
  metrics.collectedGauge(apiMetrics.storedObjects, async () => {
    await forgetGone()
    return (await countObjects(store, registry)).map(({ resource, count }) => ({ value: count, labels: { resource } }))
  })
}

/** Counts the open requests with equal labels. */
class LongRunning {
  readonly #open = new Map<string, { readonly labels: RequestLabels; value: number }>()

  open(labels: RequestLabels): () => void {
    const key = JSON.stringify(labels)
    const open = this.#open.get(key) ?? { labels, value: 0 }
    this.#open.set(key, open)
    open.value++
    return () => {
      open.value--
      if (open.value === 0) this.#open.delete(key)
    }
  }

  samples(): Iterable<{ readonly labels: RequestLabels; readonly value: number }> {
    return this.#open.values()
  }
}

function labelsOf(route: Route | undefined): RequestLabels {
  if (route?.kind !== 'resource' && route?.kind !== 'connect') {
    return { verb: 'GET', group: '', version: '', resource: route?.kind ?? '', subresource: '', scope: '' }
  }
  const { resource, namespace, name, subresource = '' } = route.target
  const everywhere = name === undefined ? 'cluster' : 'resource'
  return {
    verb: verbLabels[route.kind === 'connect' ? 'connect' : route.verb],
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
    subresource,
    scope: namespace === undefined || name !== undefined ? everywhere : 'namespace',
  }
}
