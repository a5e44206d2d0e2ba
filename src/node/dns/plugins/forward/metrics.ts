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

/** Counts the queries of the resolver to upstreams, for all server blocks. */
export class ForwardMetrics {
  readonly #replies = new Map<
    string,
    { readonly to: string; readonly rcode: string; readonly seconds: HistogramCounts }
  >()
  readonly #probeFailures = new Map<string, number>()
  readonly #connections = new Map<string, { to: string; proto: UpstreamTransport; reused: boolean; value: number }>()
  #broken = 0
  #rejected = 0

  countReply({ name }: Upstream, seconds: number, rcode: number): void {
    const key = `${name} ${rcode}`
    const line = this.#replies.get(key) ?? { to: name, rcode: rcodeName(rcode), seconds: createHistogram(timeBounds) }
    observe(line.seconds, seconds)
    this.#replies.set(key, line)
  }

  countProbeFailure({ name }: Upstream): void {
    this.#probeFailures.set(name, (this.#probeFailures.get(name) ?? 0) + 1)
  }

  countConnection({ name }: Upstream, proto: UpstreamTransport, reused: boolean): void {
    const key = `${name} ${proto} ${reused}`
    const line = this.#connections.get(key) ?? { to: name, proto, reused, value: 0 }
    line.value += 1
    this.#connections.set(key, line)
  }

  countBroken(): void {
    this.#broken += 1
  }

  countRejected(): void {
    this.#rejected += 1
  }

  /** Forgets upstreams that are not among these: the name servers of a node change with its networks. */
  keepOnly(upstreams: ReadonlySet<string>): void {
    for (const [key, { to }] of this.#replies) if (!upstreams.has(to)) this.#replies.delete(key)
    for (const [key, { to }] of this.#connections) if (!upstreams.has(to)) this.#connections.delete(key)
    for (const to of this.#probeFailures.keys()) if (!upstreams.has(to)) this.#probeFailures.delete(to)
  }

  *series(): Iterable<Series> {
    yield* this.#replySeries()
    for (const [to, value] of this.#probeFailures) {
      yield counter('coredns_proxy_healthcheck_failures_total', value, { proxy_name: 'forward', to })
      yield counter('coredns_forward_healthcheck_failures_total', value, { to })
    }
    for (const { to, proto, reused, value } of this.#connections.values())
      yield counter(`coredns_proxy_conn_cache_${reused ? 'hits' : 'misses'}_total`, value, {
        proxy_name: 'forward',
        to,
        proto,
      })
    yield counter('coredns_forward_healthcheck_broken_total', this.#broken)
    yield counter('coredns_forward_max_concurrent_rejects_total', this.#rejected)
  }

  /** Dashboards that are older than CoreDNS 1.12 ask for the names of that time. */
  *#replySeries(): Iterable<Series> {
    const requests = new Map<string, number>()
    for (const { to, rcode, seconds } of this.#replies.values()) {
      const labels = { proxy_name: 'forward', to, rcode }
      yield { kind: 'histogram', name: 'coredns_proxy_request_duration_seconds', labels, histogram: seconds }
      const old = { to, rcode }
      yield { kind: 'histogram', name: 'coredns_forward_request_duration_seconds', labels: old, histogram: seconds }
      yield counter('coredns_forward_responses_total', countOf(seconds), old)
      requests.set(to, (requests.get(to) ?? 0) + countOf(seconds))
    }
    for (const [to, value] of requests) yield counter('coredns_forward_requests_total', value, { to })
  }
}

/** Returns the number of values. */
function countOf({ counts }: HistogramCounts): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

function counter(name: string, value: number, labels: MetricLabels = {}): Series {
  return { kind: 'counter', name, labels, value }
}
