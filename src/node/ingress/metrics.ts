import { type ObjectKey, splitObjectKey } from '../../model/api-object.ts'
import type { Metrics } from '../../observe/index.ts'
import type { ServedRequest } from './driver.ts'
import type { IngressStatus } from './status.ts'

/** Records the work of plane and driver. */
export interface IngressMetrics {
  observeSync(durationMs: number): void
  countFailure(): void
  countRequest(request: ServedRequest): void
}

/** Requests of one kind since the driver started. */
interface RequestCount {
  /** Absent where no Ingress answers. */
  readonly ingress?: ObjectKey
  /** `exact`, `wildcard` or `any`; `none` where no Ingress answers. */
  readonly host: string
  readonly code: string
  readonly count: number
}

/** From 1 ms doubling to 16 s. */
const buckets = Array.from({ length: 15 }, (_, index) => 0.001 * 2 ** index)

/** `counts` has the requests that another process answered; without it `countRequest` counts them. */
export function createIngressMetrics(metrics: Metrics, counts?: () => Promise<Iterable<RequestCount>>): IngressMetrics {
  const sync = metrics.histogram({
    name: 'platnet_ingress_sync_duration_seconds',
    help: 'Time from planning changed routes to the proxy serving them, in seconds.',
    buckets,
  })
  const failures = metrics.counter({
    name: 'platnet_ingress_sync_failures_total',
    help: 'Routing tables that could not be applied; each is tried again.',
  })
  failures.add(0)
  const requests = {
    name: 'platnet_ingress_requests_total',
    help: 'Requests answered, by Ingress, kind of its host and status; without an Ingress where none answers.',
    labels: ['namespace', 'ingress', 'host', 'code'] as const,
  }
  const record = { observeSync: (ms: number) => sync.observe(ms / 1000), countFailure: () => failures.add(1) }
  if (counts !== undefined) {
    metrics.collectedCounter(requests, async () => Array.from(await counts(), sampleOf))
    return { ...record, countRequest: () => {} }
  }
  const counter = metrics.counter(requests)
  const duration = metrics.histogram({
    name: 'platnet_ingress_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its answer, WebSockets apart, in seconds.',
    buckets,
  })
  return {
    ...record,
    countRequest: (request) => {
      const host = kindOfHost(request.pattern)
      const { labels } = sampleOf({ ...request, host, code: String(request.status), count: 1 })
      counter.add(1, labels)
      if (request.status !== 101) duration.observe(request.durationMs / 1000)
    },
  }
}

function sampleOf({ ingress: key, host, code, count }: RequestCount) {
  const { namespace, name: ingress } = splitObjectKey(key ?? '')
  return { value: count, labels: { namespace, ingress, host, code } }
}

/** Host names themselves would be labels without a bound. */
function kindOfHost(pattern: string | undefined): string {
  if (pattern === undefined) return 'none'
  return pattern === '' ? 'any' : pattern.startsWith('*') ? 'wildcard' : 'exact'
}

/** Registers the figures that are read at each scrape. */
export function collectIngressCounts(metrics: Metrics, status: () => IngressStatus | undefined): void {
  const gauge = (name: string, help: string, read: (status: IngressStatus) => number) =>
    metrics.collectedGauge({ name, help }, () => {
      const found = status()
      return found === undefined ? [] : [{ value: read(found) }]
    })
  gauge(
    'platnet_ingress_ingresses',
    'Ingresses of the classes that this node serves.',
    ({ ingresses }) => ingresses.ours,
  )
  gauge('platnet_ingress_hosts', 'Host patterns with routes.', ({ hosts }) => hosts)
  gauge('platnet_ingress_backends', 'Ports of Services that Ingresses use.', ({ backends }) => backends)
  gauge(
    'platnet_ingress_backends_down',
    'Ports of Services that Ingresses use and that have no endpoint.',
    ({ backendsDown }) => backendsDown.length,
  )
  metrics.collectedGauge(
    {
      name: 'platnet_ingress_problems',
      help: 'Parts of Ingresses that are not served as they are written, by reason.',
      labels: ['reason'],
    },
    () => {
      const grouped = Object.groupBy(status()?.problems ?? [], ({ reason }) => reason)
      return Object.entries(grouped).map(([reason, list]) => ({ value: list?.length ?? 0, labels: { reason } }))
    },
  )
  metrics.collectedGauge(
    {
      name: 'platnet_ingress_certificate_expiry_timestamp_seconds',
      help: 'When a served certificate expires, in seconds since 1970.',
      labels: ['namespace', 'secret'],
    },
    () => Array.from(status()?.certificates ?? [], certificateSample),
  )
}

function certificateSample({ secret, notAfter }: IngressStatus['certificates'][number]) {
  const { namespace, name } = splitObjectKey(secret)
  return { value: Date.parse(notAfter) / 1000, labels: { namespace, secret: name } }
}
