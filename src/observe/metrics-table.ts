import type { LabelValues, MetricSpec } from '../model/metric-spec.ts'

/** Metrics of one owner. */
export interface MetricGroup {
  readonly title: string
  /** The endpoint that serves them, for people. */
  readonly endpoint: string
  readonly specs: readonly MetricSpec[]
}

/** Renders a section with a Markdown table for each group. */
export function metricsTable(groups: readonly MetricGroup[]): string {
  return groups.map(renderGroup).join('')
}

function renderGroup({ title, endpoint, specs }: MetricGroup): string {
  const rows = specs.map((spec) => [
    `\`${spec.name}\``,
    typeOf(spec),
    labelsOf(spec),
    spec.help.replaceAll('<', '&lt;'),
  ])
  const head = ['Name', 'Type', 'Labels', 'What it says']
  const table = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
  return `\n## ${title}\n\nServed by: ${endpoint}.\n\n${table}`
}

function typeOf({ type, buckets }: MetricSpec): string {
  return buckets === undefined ? type : `${type}, ${buckets.length} buckets up to ${buckets.at(-1)}`
}

function labelsOf({ labels = {} }: MetricSpec): string {
  return Object.entries(labels)
    .map(([name, values]) => `\`${name}\` ${describeValues(values)}`)
    .join('<br>')
}

function describeValues(values: LabelValues): string {
  if (typeof values === 'string') return `(${values})`
  return values.map((value) => (value === '' ? 'empty' : value)).join(', ')
}
