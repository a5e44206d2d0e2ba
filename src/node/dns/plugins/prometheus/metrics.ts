import type { MetricSpec } from '../../../../model/metric-spec.ts'
import { createHistogram, type HistogramCounts, observe, sizeBounds, timeBounds } from '../../metrics/buckets.ts'
import type { MetricLabels, Series } from '../../metrics/series.ts'
import { rcodeName, recordType, typeName } from '../../wire/codes.ts'
import { nameText } from '../../wire/name.ts'
import type { Transport } from '../client.ts'

/** The record types with a label of their own in CoreDNS' metrics. All others are `other`. */
const countedTypes = [
  recordType.A,
  recordType.AAAA,
  recordType.CNAME,
  recordType.DNSKEY,
  recordType.DS,
  recordType.MX,
  recordType.NSEC,
  recordType.NSEC3,
  recordType.NS,
  recordType.PTR,
  recordType.RRSIG,
  recordType.SOA,
  recordType.SRV,
  recordType.TXT,
  recordType.HTTPS,
  recordType.SVCB,
  recordType.IXFR,
  recordType.AXFR,
  recordType.ANY,
] as const

const typeLabels = [...countedTypes.map(typeName), 'other']

const block = { server: 'configuration', zone: 'configuration', view: [''] } as const
const protos = ['udp', 'tcp'] as const

/** The metrics of questions and answers. */
export const requestMetrics: readonly MetricSpec[] = [
  {
    type: 'counter',
    name: 'coredns_dns_requests_total',
    help: 'Questions.',
    labels: { ...block, proto: protos, family: ['1', '2'], type: typeLabels },
  },
  {
    type: 'counter',
    name: 'coredns_dns_responses_total',
    help: 'Answers, by rcode and by the plugin that gave them.',
    labels: { ...block, rcode: 'codes', plugin: 'configuration' },
  },
  {
    type: 'counter',
    name: 'coredns_dns_do_requests_total',
    help: 'Questions with the DO bit.',
    labels: block,
  },
  {
    type: 'histogram',
    name: 'coredns_dns_request_duration_seconds',
    help: 'Time from a question to its answer.',
    labels: block,
    buckets: timeBounds,
  },
  {
    type: 'histogram',
    name: 'coredns_dns_request_size_bytes',
    help: 'Sizes of questions.',
    labels: { ...block, proto: protos },
    buckets: sizeBounds,
  },
  {
    type: 'histogram',
    name: 'coredns_dns_response_size_bytes',
    help: 'Sizes of answers.',
    labels: { ...block, proto: protos },
    buckets: sizeBounds,
  },
]

const typeSlots = new Uint8Array(256).fill(countedTypes.length)
for (const [slot, type] of countedTypes.entries()) typeSlots[type] = slot

const perTransport = countedTypes.length + 1

/** Counts the questions and answers of one server block on one thread, cheaply enough for every query. */
export class BlockCounts {
  /** The requests by transport, then family, then type. */
  readonly #requests = new Float64Array(4 * perTransport)
  /** The responses by plugin, then rcode. */
  readonly #responses = new Map<string, Float64Array>()
  readonly #seconds = createHistogram(timeBounds)
  readonly #requestBytes = { udp: createHistogram(sizeBounds), tcp: createHistogram(sizeBounds) }
  readonly #responseBytes = { udp: createHistogram(sizeBounds), tcp: createHistogram(sizeBounds) }
  /** Counters of plugins, by name and labels. */
  readonly #named = new Map<string, { readonly name: string; readonly labels: MetricLabels; value: number }>()
  #dnssecOk = 0

  countRequest(transport: Transport, isIpv6: boolean, type: number, bytes: number, dnssecOk: boolean): void {
    const slot = type < 256 ? (typeSlots[type] ?? 0) : countedTypes.length
    const index = ((transport === 'udp' ? 0 : 2) + (isIpv6 ? 1 : 0)) * perTransport + slot
    this.#requests[index] = (this.#requests[index] ?? 0) + 1
    observe(this.#requestBytes[transport], bytes)
    if (dnssecOk) this.#dnssecOk += 1
  }

  countResponse(transport: Transport, plugin: string, rcode: number, bytes: number, seconds: number): void {
    const known = this.#responses.get(plugin)
    const byRcode = known ?? new Float64Array(24)
    if (known === undefined) this.#responses.set(plugin, byRcode)
    byRcode[rcode] = (byRcode[rcode] ?? 0) + 1
    observe(this.#responseBytes[transport], bytes)
    observe(this.#seconds, seconds)
  }

  /** Adds one to a counter of a plugin. Its labels are added to server, zone and view of the block, or replace them. */
  countNamed(name: string, labels: MetricLabels): void {
    const key = `${name} ${JSON.stringify(labels)}`
    const line = this.#named.get(key) ?? { name, labels, value: 0 }
    line.value += 1
    this.#named.set(key, line)
  }

  *series({ server, zones }: { readonly server: string; readonly zones: readonly Uint8Array[] }): Iterable<Series> {
    const zone = zones[0] === undefined ? 'dropped' : nameText(zones[0])
    const labels = { server, zone, view: '' }
    yield* this.#requestSeries(labels)
    yield* this.#responseSeries(labels)
    if (this.#dnssecOk > 0)
      yield { kind: 'counter', name: 'coredns_dns_do_requests_total', labels, value: this.#dnssecOk }
    yield { kind: 'histogram', name: 'coredns_dns_request_duration_seconds', labels, histogram: this.#seconds }
    yield* sizes('coredns_dns_request_size_bytes', labels, this.#requestBytes)
    yield* sizes('coredns_dns_response_size_bytes', labels, this.#responseBytes)
    for (const { name, labels: own, value } of this.#named.values())
      yield { kind: 'counter', name, labels: { ...labels, ...own }, value }
  }

  *#requestSeries(labels: MetricLabels): Iterable<Series> {
    for (const [index, value] of this.#requests.entries()) {
      if (value === 0) continue
      const proto = index < 2 * perTransport ? 'udp' : 'tcp'
      const family = Math.floor(index / perTransport) % 2 === 0 ? '1' : '2'
      const type = countedTypes[index % perTransport]
      const own = { ...labels, proto, family, type: type === undefined ? 'other' : typeName(type) }
      yield { kind: 'counter', name: 'coredns_dns_requests_total', labels: own, value }
    }
  }

  *#responseSeries(labels: MetricLabels): Iterable<Series> {
    for (const [plugin, byRcode] of this.#responses) {
      for (const [code, value] of byRcode.entries()) {
        if (value === 0) continue
        const own = { ...labels, rcode: rcodeName(code), plugin }
        yield { kind: 'counter', name: 'coredns_dns_responses_total', labels: own, value }
      }
    }
  }
}

function* sizes(
  name: string,
  labels: MetricLabels,
  histograms: Readonly<Record<Transport, HistogramCounts>>,
): Iterable<Series> {
  for (const [proto, histogram] of Object.entries(histograms))
    yield { kind: 'histogram', name, labels: { ...labels, proto }, histogram }
}
