export interface ErrorsSettings {
  readonly stacktrace: boolean
  readonly consolidate: readonly ConsolidateRule[]
}

/** Errors whose text matches are counted, and logged once each period. */
export interface ConsolidateRule {
  readonly periodMs: number
  /** A regular expression (RE2). */
  readonly pattern: string
  readonly level: 'warning' | 'error' | 'info' | 'debug'
  readonly showFirst: boolean
}
