export const templateHelp = {
  coredns_template_matches_total: 'Questions that a template answered.',
  coredns_template_template_failures_total: 'Templates that named what the question does not have.',
  coredns_template_rr_failures_total: 'Templates that did not make a record.',
} as const

/** The step of a template that failed: to fill it in, or to read the record that it made. */
export type TemplateFailure = 'template_failures_total' | 'rr_failures_total'

/** Counts a match or a failure. The names and labels are those of CoreDNS' metrics. */
export type CountTemplate = (name: 'matches_total' | TemplateFailure, labels: Readonly<Record<string, string>>) => void
