import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { MetricSpec } from '../model/metric-spec.ts'

type Labels<L extends string> = Readonly<Record<L, string>>

type CounterSpec<L extends string> = MetricSpec<L> & { readonly type: 'counter' }
type GaugeSpec<L extends string> = MetricSpec<L> & { readonly type: 'gauge' }
type HistogramSpec<L extends string> = MetricSpec<L> & {
  readonly type: 'histogram'
  readonly buckets: readonly number[]
}

interface CounterMetric<L extends string> {
  add(amount?: number, labels?: Labels<L>): void
  /** Removes the series of which that does not hold. */
  keepOnly(isKept: (labels: Labels<L>) => boolean): Promise<void>
}

interface GaugeMetric<L extends string> {
  set(value: number, labels?: Labels<L>): void
}

interface HistogramMetric<L extends string> {
  observe(value: number, labels?: Labels<L>): void
  /** Shows the series before its first value, so that this one counts as an increase. */
  zero(labels: Labels<L>): void
  /** Removes the series of which that does not hold. */
  keepOnly(isKept: (labels: Labels<L>) => boolean): Promise<void>
}

/** One value that is read at scrape time. */
interface Sample<L extends string> {
  readonly value: number
  readonly labels?: Labels<L>
}

type Collect<L extends string> = () => Iterable<Sample<L>> | Promise<Iterable<Sample<L>>>

/** One line of the exposition format: `name_bucket`, `name_sum` and `name_count` for a histogram. */
export interface MetricSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Registers and renders the metrics of one process; every owner declares its own in its `metrics.ts`. A second metric of one name is an error. */
export interface Metrics {
  counter<L extends string = never>(spec: CounterSpec<L>): CounterMetric<L>
  gauge<L extends string = never>(spec: GaugeSpec<L>): GaugeMetric<L>
  /** Registers a gauge whose values are read at each scrape; label values that are no longer returned disappear. */
  collectedGauge<L extends string = never>(spec: GaugeSpec<L>, collect: Collect<L>): void
  /** Registers a counter whose total is read at each scrape, for events that are too frequent to report one by one. */
  collectedCounter<L extends string = never>(spec: CounterSpec<L>, collect: Collect<L>): void
  histogram<L extends string = never>(spec: HistogramSpec<L>): HistogramMetric<L>
  /** The text exposition format, with the content type to serve it under. */
  text(): Promise<{ contentType: string; body: string }>
  /** The CPU, memory and file descriptors of the process alone (`process_…`), for an endpoint that renders its own metrics. */
  processText(): Promise<string>
  /** The present values of the metrics of those names; an unregistered name gives none. */
  read(names: readonly string[]): Promise<readonly MetricSample[]>
}

/** Gauges of prom-client with a counter's suffix, which are the sums of other gauges. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total']

/** Time between two looks at the event loop. 10 ms, the default, would wake an idle process 100 times a second: 0.3 % of a core. */
const eventLoopMonitoringPrecision = 1_000

/** Creates a registry that contains the metrics of the process: CPU, memory, file descriptors, event loop. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision })
  for (const name of misnamed) registry.removeSingleMetric(name)
  return new PromMetrics(registry)
}

class PromMetrics implements Metrics {
  readonly #registry: Registry

  constructor(registry: Registry) {
    this.#registry = registry
  }

  counter<L extends string>(spec: CounterSpec<L>): CounterMetric<L> {
    const counter = new Counter(this.#configure(spec))
    return {
      add: (amount = 1, labels) => (labels ? counter.inc({ ...labels }, amount) : counter.inc(amount)),
      keepOnly: (isKept) => keepOnly(counter, isKept),
    }
  }

  gauge<L extends string>(spec: GaugeSpec<L>): GaugeMetric<L> {
    const gauge = new Gauge(this.#configure(spec))
    return { set: (value, labels) => (labels ? gauge.set({ ...labels }, value) : gauge.set(value)) }
  }

  collectedGauge<L extends string>(spec: GaugeSpec<L>, collect: Collect<L>): void {
    new Gauge({
      ...this.#configure(spec),
      async collect() {
        const samples = await collect()
        this.reset()
        for (const { value, labels } of samples) labels ? this.set({ ...labels }, value) : this.set(value)
      },
    })
  }

  collectedCounter<L extends string>(spec: CounterSpec<L>, collect: Collect<L>): void {
    new Counter({
      ...this.#configure(spec),
      async collect() {
        const samples = await collect()
        this.reset()
        for (const { value, labels } of samples) labels ? this.inc({ ...labels }, value) : this.inc(value)
      },
    })
  }

  histogram<L extends string>(spec: HistogramSpec<L>): HistogramMetric<L> {
    const histogram = new Histogram({ ...this.#configure(spec), buckets: [...spec.buckets] })
    return {
      observe: (value, labels) => (labels ? histogram.observe({ ...labels }, value) : histogram.observe(value)),
      zero: (labels) => histogram.zero({ ...labels }),
      keepOnly: (isKept) => keepOnly(histogram, isKept),
    }
  }

  async text(): Promise<{ contentType: string; body: string }> {
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() }
  }

  async processText(): Promise<string> {
    const names = this.#registry.getMetricsAsArray().map(({ name }) => name)
    const own = names.filter((name) => name.startsWith('process_'))
    const texts = await Promise.all(own.map((name) => this.#registry.getSingleMetricAsString(name)))
    return texts.map((text) => `${text}\n`).join('')
  }

  async read(names: readonly string[]): Promise<readonly MetricSample[]> {
    const metrics = names.flatMap((name) => this.#registry.getSingleMetric(name) ?? [])
    const read = await Promise.all(metrics.map((metric) => metric.get()))
    return read.flatMap(({ name, values }) => values.map((sample) => toSample(name, sample)))
  }

  #configure<L extends string>(spec: MetricSpec<L>) {
    return { name: spec.name, help: spec.help, labelNames: Object.keys(spec.labels ?? {}), registers: [this.#registry] }
  }
}

/** prom-client names the parts of a histogram in `metricName`, which its types leave out. */
function toSample(
  name: string,
  sample: { readonly value: number; readonly labels: object; readonly metricName?: string },
): MetricSample {
  const labels = Object.entries(sample.labels).map(([label, value]) => [label, String(value)])
  return { name: sample.metricName ?? name, labels: Object.fromEntries(labels), value: sample.value }
}

async function keepOnly<L extends string>(
  metric: Counter | Histogram,
  isKept: (labels: Labels<L>) => boolean,
): Promise<void> {
  const { values } = await metric.get()
  for (const { labels: all } of values) {
    const { le: _bound, ...labels } = all as Labels<L> & { readonly le?: string }
    if (!isKept(labels as unknown as Labels<L>)) metric.remove(labels)
  }
}
