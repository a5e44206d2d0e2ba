/**
 * The values of a label: all of them, or what bounds their number. `objects`: names of API objects that exist, whose series go with
 * them. `resources`: kinds that the API serves. `configuration`: what this process was configured with. `codes`: HTTP status codes.
 * `machine`: properties of this process or machine. What a client sends is never a bound.
 */
export type LabelValues = readonly string[] | 'objects' | 'resources' | 'configuration' | 'codes' | 'machine'

/**
 * The declaration of a metric, from which `docs/metrics.md` is made. Names follow the Prometheus naming guide: base unit last, `_total`
 * on counters; help is a sentence.
 */
export interface MetricSpec<L extends string = string> {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  readonly help: string
  readonly labels?: Readonly<Record<L, LabelValues>>
  /** Upper bounds of the buckets of a histogram. */
  readonly buckets?: readonly number[]
}
