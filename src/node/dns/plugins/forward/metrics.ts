import type { MetricSpec } from '../../../../model/metric-spec.ts'
import { createHistogram, type HistogramCounts, observe, timeBounds } from '../../metrics/buckets.ts'
import type { MetricLabels, Series } from '../../metrics/series.ts'
import { rcodeName } from '../../wire/codes.ts'
import type { UpstreamTransport } from './settings.ts'
import type { Upstream } from './upstream.ts'

const to = { to: 'configuration' } as const
const upstream = { proxy_name: ['forward'], ...to } as const
const transports: readonly UpstreamTransport[] = ['udp', 'tcp', 'tcp-tls']

/** The metrics of `forward`. */
export const forwardMetrics: readonly MetricSpec[] = [
  {
    type: 'counter',
    name: 'coredns_proxy_conn_cache_hits_total',
    help: 'Queries to upstreams on a connection that was open already.',
    labels: { ...upstream, proto: transports },
  },
  {
    type: 'counter',
    name: 'coredns_proxy_conn_cache_misses_total',
    help: 'Queries to upstreams for which a connection was opened.',
    labels: { ...upstream, proto: transports },
  },
  {
    type: 'histogram',
    name: 'coredns_proxy_request_duration_seconds',
    help: 'Time from a query to an upstream to its answer.',
    labels: { ...upstream, rcode: 'codes' },
    buckets: timeBounds,
  },
  {
    type: 'counter',
    name: 'coredns_proxy_healthcheck_failures_total',
    help: 'Health checks that an upstream did not answer.',
    labels: upstream,
  },
  {
    type: 'counter',
    name: 'coredns_forward_healthcheck_broken_total',
    help: 'Questions for which every upstream was down.',
  },
  {
    type: 'counter',
    name: 'coredns_forward_max_concurrent_rejects_total',
    help: 'Questions refused because too many were in progress.',
  },
  {
    type: 'counter',
    name: 'coredns_forward_requests_total',
    help: 'Queries to upstreams, under the name before CoreDNS 1.12.',
    labels: to,
  },
  {
    type: 'counter',
    name: 'coredns_forward_responses_total',
    help: 'Answers of upstreams, under the name before CoreDNS 1.12.',
    labels: { ...to, rcode: 'codes' },
  },
  {
    type: 'histogram',
    name: 'coredns_forward_request_duration_seconds',
    help: 'Time from a query to an upstream to its answer, under the name before CoreDNS 1.12.',
    labels: { ...to, rcode: 'codes' },
    buckets: timeBounds,
  },
  {
    type: 'counter',
    name: 'coredns_forward_healthcheck_failures_total',
    help: 'Health checks that an upstream did not answer, under the name before CoreDNS 1.12.',
    labels: to,
  },
]

/** The counts of one upstream. */
interface UpstreamCounts {
  /** Seconds of the answers, by rcode. */
  readonly replies: Map<number, HistogramCounts>
  readonly connections: Map<UpstreamTransport, { reused: number; opened: number }>
  probeFailures: number
}

/** Counts the queries of the resolver to upstreams, for all server blocks. */
export class ForwardMetrics {
  readonly #upstreams = new Map<string, UpstreamCounts>()
  #broken = 0
  #rejected = 0

  countReply({ name }: Upstream, seconds: number, rcode: number): void {
    const { replies } = this.#of(name)
    let histogram = replies.get(rcode)
    if (histogram === undefined) {
      histogram = createHistogram(timeBounds)
      replies.set(rcode, histogram)
    }
    observe(histogram, seconds)
  }

  countProbeFailure({ name }: Upstream): void {
    this.#of(name).probeFailures += 1
  }

  countConnection({ name }: Upstream, proto: UpstreamTransport, reused: boolean): void {
    const { connections } = this.#of(name)
    let counts = connections.get(proto)
    if (counts === undefined) {
      counts = { reused: 0, opened: 0 }
      connections.set(proto, counts)
    }
    counts[reused ? 'reused' : 'opened'] += 1
  }

  countBroken(): void {
    this.#broken += 1
  }

  countRejected(): void {
    this.#rejected += 1
  }

  /** Forgets upstreams that are not among these: the name servers of a node change with its networks. */
  keepOnly(upstreams: ReadonlySet<string>): void {
    for (const to of this.#upstreams.keys()) if (!upstreams.has(to)) this.#upstreams.delete(to)
  }

  *series(): Iterable<Series> {
    for (const [to, counts] of this.#upstreams) {
      yield* replySeries(to, counts)
      yield* connectionSeries(to, counts)
      if (counts.probeFailures === 0) continue
      yield counter('coredns_proxy_healthcheck_failures_total', counts.probeFailures, { proxy_name: 'forward', to })
      yield counter('coredns_forward_healthcheck_failures_total', counts.probeFailures, { to })
    }
    yield counter('coredns_forward_healthcheck_broken_total', this.#broken)
    yield counter('coredns_forward_max_concurrent_rejects_total', this.#rejected)
  }

  #of(name: string): UpstreamCounts {
    let counts = this.#upstreams.get(name)
    if (counts === undefined) {
      counts = { replies: new Map(), connections: new Map(), probeFailures: 0 }
      this.#upstreams.set(name, counts)
    }
    return counts
  }
}

/** Dashboards that are older than CoreDNS 1.12 ask for the names of that time. */
function* replySeries(to: string, { replies }: UpstreamCounts): Iterable<Series> {
  let requests = 0
  for (const [code, histogram] of replies) {
    const rcode = rcodeName(code)
    const labels = { proxy_name: 'forward', to, rcode }
    yield { kind: 'histogram', name: 'coredns_proxy_request_duration_seconds', labels, histogram }
    const old = { to, rcode }
    yield { kind: 'histogram', name: 'coredns_forward_request_duration_seconds', labels: old, histogram }
    yield counter('coredns_forward_responses_total', countOf(histogram), old)
    requests += countOf(histogram)
  }
  if (requests > 0) yield counter('coredns_forward_requests_total', requests, { to })
}

function* connectionSeries(to: string, { connections }: UpstreamCounts): Iterable<Series> {
  for (const [proto, { reused, opened }] of connections) {
    const labels = { proxy_name: 'forward', to, proto }
    if (reused > 0) yield counter('coredns_proxy_conn_cache_hits_total', reused, labels)
    if (opened > 0) yield counter('coredns_proxy_conn_cache_misses_total', opened, labels)
  }
}

/** Returns the number of values. */
function countOf({ counts }: HistogramCounts): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

function counter(name: string, value: number, labels: MetricLabels = {}): Series {
  return { kind: 'counter', name, labels, value }
}
