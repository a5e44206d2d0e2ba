import { createHistogram, type HistogramCounts, observe, timeBounds } from '../../metrics/buckets.ts'
import type { MetricLabels, Series } from '../../metrics/series.ts'
import { rcodeName } from '../../wire/codes.ts'
import type { UpstreamTransport } from './settings.ts'
import type { Upstream } from './upstream.ts'

export const forwardHelp = {
  coredns_proxy_conn_cache_hits_total: 'Queries to upstreams on a connection that was open already.',
  coredns_proxy_conn_cache_misses_total: 'Queries to upstreams for which a connection was opened.',
  coredns_proxy_request_duration_seconds: 'Time from a query to an upstream to its answer.',
  coredns_proxy_healthcheck_failures_total: 'Health checks that an upstream did not answer.',
  coredns_forward_healthcheck_broken_total: 'Questions for which every upstream was down.',
  coredns_forward_max_concurrent_rejects_total: 'Questions refused because too many were in progress.',
} as const

/** Counts the queries to upstreams on the resolver thread, for all server blocks. */
export class ForwardMetrics {
  readonly #replies = new Map<string, { readonly labels: MetricLabels; readonly seconds: HistogramCounts }>()
  readonly #probeFailures = new Map<string, number>()
  readonly #connections = new Map<string, { to: string; proto: UpstreamTransport; reused: boolean; value: number }>()
  #broken = 0
  #rejected = 0

  countReply({ name }: Upstream, seconds: number, rcode: number): void {
    const key = `${name} ${rcode}`
    const labels = { proxy_name: 'forward', to: name, rcode: rcodeName(rcode) }
    const line = this.#replies.get(key) ?? { labels, seconds: createHistogram(timeBounds) }
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

  *series(): Iterable<Series> {
    for (const { labels, seconds } of this.#replies.values())
      yield { kind: 'histogram', name: 'coredns_proxy_request_duration_seconds', labels, histogram: seconds }
    for (const [to, value] of this.#probeFailures)
      yield counter('coredns_proxy_healthcheck_failures_total', value, { proxy_name: 'forward', to })
    for (const { to, proto, reused, value } of this.#connections.values())
      yield counter(`coredns_proxy_conn_cache_${reused ? 'hits' : 'misses'}_total`, value, {
        proxy_name: 'forward',
        to,
        proto,
      })
    yield counter('coredns_forward_healthcheck_broken_total', this.#broken)
    yield counter('coredns_forward_max_concurrent_rejects_total', this.#rejected)
  }
}

function counter(name: string, value: number, labels: MetricLabels = {}): Series {
  return { kind: 'counter', name, labels, value }
}
