import { type ObjectKey, splitObjectKey } from '../../model/api-object.ts'
import type { MetricSpec } from '../../model/metric-spec.ts'
import type { Metrics } from '../../observe/index.ts'
import type { ServedRequest } from './driver.ts'
import type { IngressStatus } from './status.ts'

/** Records the work of plane and driver. */
export interface IngressMetrics {
  observeSync(durationMs: number): void
  countFailure(): void
  countRequest(request: ServedRequest): void
  /** From then on requests of Ingresses that are not among these are not shown: their series would stay for ever. */
  showOnly(ingresses: () => ReadonlySet<ObjectKey> | undefined): void
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

/** The metrics of Ingress on this node. */
export const ingressMetrics = {
  sync: {
    type: 'histogram',
    name: 'platnet_ingress_sync_duration_seconds',
    help: 'Time from planning changed routes to the proxy serving them, in seconds.',
    buckets,
  },
  failures: {
    type: 'counter',
    name: 'platnet_ingress_sync_failures_total',
    help: 'Routing tables that could not be applied; each is tried again.',
  },
  requests: {
    type: 'counter',
    name: 'platnet_ingress_requests_total',
    help: 'Requests answered, by Ingress, kind of its host and status; without an Ingress where none answers.',
    labels: {
      namespace: 'objects',
      ingress: 'objects',
      host: ['exact', 'wildcard', 'any', 'none'],
      code: 'codes',
    },
  },
  duration: {
    type: 'histogram',
    name: 'platnet_ingress_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its answer, WebSockets apart, in seconds; of the in-process driver alone.',
    buckets,
  },
  ingresses: {
    type: 'gauge',
    name: 'platnet_ingress_ingresses',
    help: 'Ingresses of the classes that this node serves.',
  },
  hosts: { type: 'gauge', name: 'platnet_ingress_hosts', help: 'Host patterns with routes.' },
  backends: { type: 'gauge', name: 'platnet_ingress_backends', help: 'Ports of Services that Ingresses use.' },
  backendsDown: {
    type: 'gauge',
    name: 'platnet_ingress_backends_down',
    help: 'Ports of Services that Ingresses use and that have no endpoint.',
  },
  problems: {
    type: 'gauge',
    name: 'platnet_ingress_problems',
    help: 'Parts of Ingresses that are not served as they are written, by reason.',
    labels: {
      reason: ['UnreadableIngress', 'RouteConflict', 'BackendUnusable', 'CertificateUnusable', 'RefusedByProxy'],
    },
  },
  certificateExpiry: {
    type: 'gauge',
    name: 'platnet_ingress_certificate_expiry_timestamp_seconds',
    help: 'When a served certificate expires, in seconds since 1970.',
    labels: { namespace: 'objects', secret: 'objects' },
  },
} as const satisfies Record<string, MetricSpec>

/** `counts` has the requests that another process answered; without it `countRequest` counts them. */
export function createIngressMetrics(metrics: Metrics, counts?: () => Promise<Iterable<RequestCount>>): IngressMetrics {
  const sync = metrics.histogram(ingressMetrics.sync)
  const failures = metrics.counter(ingressMetrics.failures)
  failures.add(0)
  let shown: () => ReadonlySet<ObjectKey> | undefined = () => undefined
  const record = {
    observeSync: (ms: number) => sync.observe(ms / 1000),
    countFailure: () => failures.add(1),
    showOnly: (ingresses: typeof shown) => {
      shown = ingresses
    },
  }
  const own = new Map<string, RequestCount>()
  const read = counts ?? (async () => own.values())
  metrics.collectedCounter(ingressMetrics.requests, async () => {
    const known = shown()
    const isShown = ({ ingress }: RequestCount) => ingress === undefined || (known?.has(ingress) ?? true)
    return Array.from(await read())
      .filter(isShown)
      .map(sampleOf)
  })
  if (counts !== undefined) return { ...record, countRequest: () => {} }
  const duration = metrics.histogram(ingressMetrics.duration)
  return {
    ...record,
    countRequest: (request) => {
      countOne(own, request)
      if (request.status !== 101) duration.observe(request.durationMs / 1000)
    },
  }
}

function countOne(counts: Map<string, RequestCount>, { ingress, pattern, status }: ServedRequest): void {
  const [host, code] = [kindOfHost(pattern), String(status)]
  const key = `${ingress ?? ''} ${host} ${code}`
  const count = (counts.get(key)?.count ?? 0) + 1
  counts.set(key, { ...(ingress !== undefined && { ingress }), host, code, count })
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
  type Count = 'ingresses' | 'hosts' | 'backends' | 'backendsDown'
  const gauge = (what: Count, read: (status: IngressStatus) => number) =>
    metrics.collectedGauge(ingressMetrics[what], () => {
      const found = status()
      return found === undefined ? [] : [{ value: read(found) }]
    })
  gauge('ingresses', ({ ingresses }) => ingresses.ours)
  gauge('hosts', ({ hosts }) => hosts)
  gauge('backends', ({ backends }) => backends)
  gauge('backendsDown', ({ backendsDown }) => backendsDown.length)
  metrics.collectedGauge(ingressMetrics.problems, () => {
    const grouped = Object.groupBy(status()?.problems ?? [], ({ reason }) => reason)
    return Object.entries(grouped).map(([reason, list]) => ({ value: list?.length ?? 0, labels: { reason } }))
  })
  metrics.collectedGauge(ingressMetrics.certificateExpiry, () =>
    Array.from(status()?.certificates ?? [], certificateSample),
  )
}

function certificateSample({ secret, notAfter }: IngressStatus['certificates'][number]) {
  const { namespace, name } = splitObjectKey(secret)
  return { value: Date.parse(notAfter) / 1000, labels: { namespace, secret: name } }
}
