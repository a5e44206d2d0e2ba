import { createHistogram, type HistogramCounts, observe, timeBounds } from '../metrics/buckets.ts'
import type { MetricLabels, Series } from '../metrics/series.ts'
import type { UpstreamTransport } from '../plugins/forward/settings.ts'
import type { Upstream } from '../plugins/forward/upstream.ts'
import { rcodeName } from '../wire/codes.ts'
import { nameText } from '../wire/name.ts'
import type { BlockResolver } from './block-resolver.ts'
import type { ResolverSettings } from './settings.ts'

/** What the resolving thread counts, under CoreDNS' names. */
export class ResolverCounts {
  readonly #replies = new Map<string, { readonly labels: MetricLabels; readonly seconds: HistogramCounts }>()
  readonly #probeFailures = new Map<string, number>()
  readonly #channels = new Map<string, { to: string; proto: UpstreamTransport; kept: boolean; value: number }>()
  #broken = 0
  #rejected = 0
  #loops = 0

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

  countChannel({ name }: Upstream, proto: UpstreamTransport, kept: boolean): void {
    const key = `${name} ${proto} ${kept}`
    const line = this.#channels.get(key) ?? { to: name, proto, kept, value: 0 }
    line.value += 1
    this.#channels.set(key, line)
  }

  countBroken(): void {
    this.#broken += 1
  }

  countRejected(): void {
    this.#rejected += 1
  }

  countLoop(): void {
    this.#loops += 1
  }

  *series(): Iterable<Series> {
    for (const { labels, seconds } of this.#replies.values())
      yield { kind: 'histogram', name: 'coredns_proxy_request_duration_seconds', labels, histogram: seconds }
    for (const [to, value] of this.#probeFailures)
      yield counter('coredns_proxy_healthcheck_failures_total', value, { proxy_name: 'forward', to })
    for (const { to, proto, kept, value } of this.#channels.values())
      yield counter(`coredns_proxy_conn_cache_${kept ? 'hits' : 'misses'}_total`, value, {
        proxy_name: 'forward',
        to,
        proto,
      })
    yield counter('coredns_forward_healthcheck_broken_total', this.#broken)
    yield counter('coredns_forward_max_concurrent_rejects_total', this.#rejected)
    yield counter('platnet_dns_loops_total', this.#loops)
  }
}

/** What one block's cache holds and did. */
export function* cacheSeries({ server, cache: plugin }: ResolverSettings, { cache }: BlockResolver): Iterable<Series> {
  if (cache === undefined || plugin === undefined) return
  const labels = { server, zones: plugin.zones.map((zone) => nameText(zone)).join(','), view: '' }
  const { counts } = cache
  for (const kind of ['success', 'denial'] as const) {
    const own = { server, type: kind, zones: labels.zones, view: '' }
    yield { kind: 'gauge', name: 'coredns_cache_entries', labels: own, value: cache.entries(kind) }
    yield counter('coredns_cache_hits_total', counts.hits[kind], own)
    yield counter('coredns_cache_evictions_total', counts.evictions[kind], own)
  }
  const hits = counts.hits.success + counts.hits.denial
  yield counter('coredns_cache_requests_total', hits + counts.misses, labels)
  yield counter('coredns_cache_misses_total', counts.misses, labels)
  yield counter('coredns_cache_prefetch_total', counts.prefetches, labels)
  yield counter('coredns_cache_drops_total', counts.drops, labels)
  yield counter('coredns_cache_served_stale_total', counts.servedStale, labels)
  yield { kind: 'gauge', name: 'platnet_dns_cache_bytes', labels, value: cache.bytes }
}

function counter(name: string, value: number, labels: MetricLabels = {}): Series {
  return { kind: 'counter', name, labels, value }
}
