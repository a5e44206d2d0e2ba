import type { MetricSpec } from '../../../../model/metric-spec.ts'
import type { MetricLabels, Series } from '../../metrics/series.ts'
import { nameText } from '../../wire/name.ts'
import type { AnswerCache } from './answer-cache.ts'
import type { CacheKind } from './lifetime.ts'

const labels = { server: 'configuration', zones: 'configuration', view: [''] } as const
const kinds = ['success', 'denial'] as const
/** The labels in CoreDNS' order. */
const ofKind = { server: 'configuration', type: kinds, zones: 'configuration', view: [''] } as const

/** The metrics of `cache`. */
export const cacheMetrics: readonly MetricSpec[] = [
  {
    type: 'gauge',
    name: 'coredns_cache_entries',
    help: 'Answers in the cache.',
    labels: ofKind,
  },
  {
    type: 'counter',
    name: 'coredns_cache_hits_total',
    help: 'Questions answered from the cache.',
    labels: ofKind,
  },
  {
    type: 'counter',
    name: 'coredns_cache_misses_total',
    help: 'Questions that the cache could not answer.',
    labels,
  },
  {
    type: 'counter',
    name: 'coredns_cache_requests_total',
    help: 'Questions that came to the cache.',
    labels,
  },
  {
    type: 'counter',
    name: 'coredns_cache_evictions_total',
    help: 'Answers dropped before they expired, for lack of space.',
    labels: ofKind,
  },
  {
    type: 'counter',
    name: 'coredns_cache_prefetch_total',
    help: 'Answers asked for again before they expired.',
    labels,
  },
  {
    type: 'counter',
    name: 'coredns_cache_drops_total',
    help: 'Answers that may not be cached.',
    labels,
  },
  {
    type: 'counter',
    name: 'coredns_cache_served_stale_total',
    help: 'Answers given after they expired.',
    labels,
  },
  {
    type: 'gauge',
    name: 'platnet_dns_cache_bytes',
    help: 'Memory of the cached answers.',
    labels,
  },
]

/** The labels of a cache: its server block and the zones it caches. */
export interface CacheLabels {
  readonly server: string
  readonly zones: readonly Uint8Array[]
}

type Hits = Readonly<Record<CacheKind, number>>

/** Yields the counts of one block's cache in the resolver. */
export function* cacheSeries(cacheLabels: CacheLabels, cache: AnswerCache): Iterable<Series> {
  const labels = labelsOf(cacheLabels)
  const { counts } = cache
  for (const type of kinds) {
    const own = ofType(labels, type)
    yield { kind: 'gauge', name: 'coredns_cache_entries', labels: own, value: cache.entries(type) }
    yield counter('coredns_cache_evictions_total', counts.evictions[type], own)
  }
  yield* hitSeries(labels, counts.hits, counts.misses)
  yield counter('coredns_cache_misses_total', counts.misses, labels)
  yield counter('coredns_cache_prefetch_total', counts.prefetches, labels)
  yield counter('coredns_cache_drops_total', counts.drops, labels)
  yield counter('coredns_cache_served_stale_total', counts.servedStale, labels)
  yield bytesSeries(labels, cache.bytes)
}

/** Yields the counts of a serving thread's copies. They are added to those of the cache itself. */
export function* copySeries(cacheLabels: CacheLabels, hits: Hits, bytes: number): Iterable<Series> {
  const labels = labelsOf(cacheLabels)
  yield* hitSeries(labels, hits, 0)
  yield bytesSeries(labels, bytes)
}

function* hitSeries(labels: MetricLabels, hits: Hits, misses: number): Iterable<Series> {
  for (const type of kinds) yield counter('coredns_cache_hits_total', hits[type], ofType(labels, type))
  yield counter('coredns_cache_requests_total', hits.success + hits.denial + misses, labels)
}

function ofType({ server = '', zones = '', view = '' }: MetricLabels, type: CacheKind): MetricLabels {
  return { server, type, zones, view }
}

function labelsOf({ server, zones }: CacheLabels): MetricLabels {
  return { server, zones: zones.map((zone) => nameText(zone)).join(','), view: '' }
}

function bytesSeries(labels: MetricLabels, value: number): Series {
  return { kind: 'gauge', name: 'platnet_dns_cache_bytes', labels, value }
}

function counter(name: string, value: number, labels: MetricLabels): Series {
  return { kind: 'counter', name, labels, value }
}
