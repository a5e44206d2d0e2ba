import type { MetricSpec } from '../../../model/metric-spec.ts'
import { addHistogram, createHistogram, type HistogramCounts } from './buckets.ts'

export type MetricLabels = Readonly<Record<string, string>>

/** One line of a metric with all its labels; plain data, so that it may cross to another thread. */
export type Series =
  | { readonly kind: 'counter' | 'gauge'; readonly name: string; readonly labels: MetricLabels; readonly value: number }
  | {
      readonly kind: 'histogram'
      readonly name: string
      readonly labels: MetricLabels
      readonly histogram: HistogramCounts
    }

/** A line of the text format as data: `name_bucket`, `name_sum` and `name_count` for a histogram. */
export interface SeriesSample {
  readonly name: string
  readonly labels: MetricLabels
  readonly value: number
}

/** Returns the lines of series; those of several threads stay apart. */
export function sampleSeries(series: readonly Series[]): readonly SeriesSample[] {
  return series.flatMap((line) => {
    if (line.kind !== 'histogram') return [{ name: line.name, labels: line.labels, value: line.value }]
    const { bounds, counts, sum } = line.histogram
    let count = 0
    const buckets = Array.from(counts, (own, index) => {
      count += own
      const labels = { ...line.labels, le: String(bounds[index] ?? '+Inf') }
      return { name: `${line.name}_bucket`, labels, value: count }
    })
    const ends = [
      { name: `${line.name}_sum`, labels: line.labels, value: sum },
      { name: `${line.name}_count`, labels: line.labels, value: count },
    ]
    return [...buckets, ...ends]
  })
}

/** Renders the text exposition format of Prometheus. Lines of several threads with equal labels are added up. */
export function renderSeries(series: readonly Series[], specs: readonly Pick<MetricSpec, 'name' | 'help'>[]): string {
  const help = new Map(specs.map((spec) => [spec.name, spec.help]))
  const byName = Map.groupBy(series, ({ name }) => name)
  return Array.from(byName, ([name, lines]) => {
    const kind = lines[0]?.kind ?? 'counter'
    const head = `# HELP ${name} ${help.get(name) ?? name}\n# TYPE ${name} ${kind}\n`
    return head + [...Map.groupBy(lines, ({ labels }) => renderLabels(labels)).entries()].map(renderGroup).join('')
  }).join('')
}

function renderGroup([labels, lines]: [string, Series[]]): string {
  const [first] = lines
  if (first === undefined) return ''
  if (first.kind !== 'histogram') {
    const value = lines.reduce((sum, line) => sum + (line.kind === 'histogram' ? 0 : line.value), 0)
    return `${first.name}${wrap(labels)} ${value}\n`
  }
  const total = createHistogram(first.histogram.bounds)
  for (const line of lines) if (line.kind === 'histogram') addHistogram(total, line.histogram)
  return renderHistogram(first.name, labels, total)
}

function renderHistogram(name: string, labels: string, { bounds, counts, sum }: HistogramCounts): string {
  let count = 0
  const buckets = Array.from(counts, (own, index) => {
    count += own
    const bound = `le="${bounds[index] ?? '+Inf'}"`
    return `${name}_bucket${wrap(labels === '' ? bound : `${labels},${bound}`)} ${count}\n`
  })
  return `${buckets.join('')}${name}_sum${wrap(labels)} ${sum}\n${name}_count${wrap(labels)} ${count}\n`
}

function wrap(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}

function renderLabels(labels: MetricLabels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, escapeCharacter)}"`)
    .join(',')
}

function escapeCharacter(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`
}
