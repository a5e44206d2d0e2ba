import type { Metrics } from '../observe/index.ts'
import type { InFlight } from './in-flight.ts'
import type { Route } from './route/route.ts'

const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
]

interface Answered {
  /** Undefined where the request did not get that far. */
  readonly route: Route | undefined
  readonly code: number
  readonly durationMs: number
}

/** Requests as dashboards for Kubernetes know them. Label values come from what is served, never from a path as it was sent. */
export class ApiMetrics {
  readonly #total
  readonly #duration

  constructor(metrics: Metrics, inFlight: InFlight) {
    const labels = ['verb', 'group', 'version', 'resource', 'subresource', 'scope'] as const
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
    metrics.collectedGauge(
      { name: 'apiserver_current_inflight_requests', help: 'Requests under way.', labels: ['request_kind'] },
      () => [
        { value: inFlight.reads, labels: { request_kind: 'readOnly' } },
        { value: inFlight.writes, labels: { request_kind: 'mutating' } },
      ],
    )
  }

  observe({ route, code, durationMs }: Answered): void {
    const labels = labelsOf(route)
    this.#total.add(1, { ...labels, code: String(code) })
    if (labels.verb !== 'WATCH') this.#duration.observe(durationMs / 1000, labels)
  }
}

function labelsOf(route: Route | undefined) {
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
