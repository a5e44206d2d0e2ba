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

const sizeBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]

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

const labels = ['verb', 'group', 'version', 'resource', 'subresource', 'scope'] as const
type RequestLabels = Readonly<Record<(typeof labels)[number], string>>

/** The request metrics that dashboards for Kubernetes expect. Label values come from the served routes, never from a path as sent. */
export class ApiMetrics {
  readonly #total
  readonly #duration
  readonly #size
  readonly #longRunning = new LongRunning()

  constructor(metrics: Metrics, sources: Sources) {
    this.#total = metrics.counter({
      name: 'apiserver_request_total',
      help: 'Requests answered.',
      labels: [...labels, 'code'],
    })
    this.#duration = metrics.histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Time from the first byte of a request to the end of its answer, watches left out.',
      labels,
      buckets: durationBuckets,
    })
    this.#size = metrics.histogram({
      name: 'apiserver_response_sizes',
      help: 'Bytes in the bodies of answers to get and list.',
      labels,
      buckets: sizeBuckets,
    })
    metrics.collectedGauge({ name: 'apiserver_longrunning_requests', help: 'Watches that are open.', labels }, () =>
      this.#longRunning.samples(),
    )
    addCollected(metrics, sources)
  }

  observe({ route, code, durationMs, sizeBytes }: Answered): void {
    const values = labelsOf(route)
    this.#total.add(1, { ...values, code: String(code) })
    if (values.verb !== 'WATCH') this.#duration.observe(durationMs / 1000, values)
    const isRead = route?.kind === 'resource' && (route.verb === 'get' || route.verb === 'list')
    if (isRead && sizeBytes !== undefined) this.#size.observe(sizeBytes, values)
  }

  /** Counts the request as open until the returned function is called. */
  openLongRunning(route: Route): () => void {
    return this.#longRunning.open(labelsOf(route))
  }
}

function addCollected(metrics: Metrics, { inFlight, eventCounts, store, registry }: Sources): void {
  metrics.collectedGauge(
    { name: 'apiserver_current_inflight_requests', help: 'Requests under way.', labels: ['request_kind'] },
    () => [
      { value: inFlight.reads, labels: { request_kind: 'readOnly' } },
      { value: inFlight.writes, labels: { request_kind: 'mutating' } },
    ],
  )
  metrics.collectedCounter(
    { name: 'apiserver_watch_events_total', help: 'Events sent to watches.', labels: ['group', 'version', 'kind'] },
    () => eventCounts.all().map(({ value, ...names }) => ({ value, labels: names })),
  )
  metrics.collectedGauge(
    { name: 'apiserver_storage_objects', help: 'Objects in the store.', labels: ['resource'] },
    async () =>
      (await countObjects(store, registry)).map(({ resource, count }) => ({ value: count, labels: { resource } })),
  )
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
  if (route?.kind !== 'resource') {
    return { verb: 'GET', group: '', version: '', resource: route?.kind ?? '', subresource: '', scope: '' }
  }
  const { resource, namespace, name, subresource = '' } = route.target
  const everywhere = name === undefined ? 'cluster' : 'resource'
  return {
    verb: verbLabels[route.verb],
    group: resource.group,
    version: resource.version,
    resource: resource.plural,
    subresource,
    scope: namespace === undefined || name !== undefined ? everywhere : 'namespace',
  }
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
} as const
