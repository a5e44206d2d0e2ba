import type { MetricSpec } from '../model/metric-spec.ts'
import type { Metrics } from '../observe/index.ts'
import type { ApiClient } from './api-client.ts'
import type { RequestObserver } from './transport.ts'

/** The hosts of API servers that this process was given. */
const host = { host: 'configuration' } as const

/** The metrics of requests to the API server, with client-go's names, labels and buckets where it has them. */
export const clientMetrics = {
  requests: {
    type: 'counter',
    name: 'rest_client_requests_total',
    help: 'Requests to the API server, by status; <error> where no answer came.',
    labels: { code: 'codes', method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], ...host },
  },
  duration: {
    type: 'histogram',
    name: 'rest_client_request_duration_seconds',
    help: 'Time from a request to the API server to the headers of its answer, in seconds.',
    labels: { verb: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'], ...host },
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
  },
  leftOut: {
    type: 'gauge',
    name: 'platnet_client_objects_left_out',
    help: 'Objects of the API that are too large or not readable and are left out; the log names them.',
    labels: { resource: 'resources' },
  },
  stale: {
    type: 'gauge',
    name: 'platnet_client_stale_seconds',
    help: 'Seconds since the API server was last heard of a collection that cannot be followed; 0 while it is followed.',
    labels: { resource: 'resources' },
  },
} as const satisfies Record<string, MetricSpec>

/** Returns an observer of requests. */
export function createRequestObserver(metrics: Metrics): RequestObserver {
  const requests = metrics.counter(clientMetrics.requests)
  const duration = metrics.histogram(clientMetrics.duration)
  return ({ server, method, status, durationMs }) => {
    const { host } = new URL(server)
    requests.add(1, { code: status === undefined ? '<error>' : String(status), method, host })
    duration.observe(durationMs / 1000, { verb: method, host })
  }
}

/** Shows of the collections that the client's informers follow how many objects they leave out, and how old the copy is. */
export function collectFollowed(metrics: Metrics, client: ApiClient): void {
  metrics.collectedGauge(clientMetrics.leftOut, () => byResource(client.leftOutCounts()))
  metrics.collectedGauge(clientMetrics.stale, () =>
    byResource(client.ages()).map(({ value, labels }) => ({ value: value / 1000, labels })),
  )
}

function byResource(values: ReadonlyMap<string, number>) {
  return Array.from(values, ([resource, value]) => ({ value, labels: { resource } }))
}
