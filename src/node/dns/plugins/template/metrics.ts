import type { MetricSpec } from '../../../../model/metric-spec.ts'
import { recordClass, recordType } from '../../wire/codes.ts'

const labels = {
  server: 'configuration',
  zone: 'configuration',
  view: [''],
  class: [...Object.keys(recordClass), 'other'],
  type: [...Object.keys(recordType), 'other'],
} as const

/** The metrics of `template`. */
export const templateMetrics: readonly MetricSpec[] = [
  {
    type: 'counter',
    name: 'coredns_template_matches_total',
    help: 'Questions that a template answered.',
    labels,
  },
  {
    type: 'counter',
    name: 'coredns_template_template_failures_total',
    help: 'Templates that named what the question does not have.',
    labels: { ...labels, section: ['answer', 'authority', 'additional'], template: 'configuration' },
  },
  {
    type: 'counter',
    name: 'coredns_template_rr_failures_total',
    help: 'Templates that did not make a record.',
    labels: { ...labels, section: ['answer', 'authority', 'additional'], template: 'configuration' },
  },
]

/** The step of a template that failed: to fill it in, or to read the record that it made. */
export type TemplateFailure = 'template_failures_total' | 'rr_failures_total'

/** Counts a match or a failure. The names and labels are those of CoreDNS' metrics. */
export type CountTemplate = (name: 'matches_total' | TemplateFailure, labels: Readonly<Record<string, string>>) => void
