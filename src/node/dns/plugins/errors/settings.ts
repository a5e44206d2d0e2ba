export interface ErrorsSettings {
  readonly stacktrace: boolean
  readonly consolidate: readonly ConsolidateRule[]
}

/** Errors whose text matches are gathered and reported once each period. */
export interface ConsolidateRule {
  readonly periodMs: number
  /** RE2. */
  readonly pattern: string
  readonly level: 'warning' | 'error' | 'info' | 'debug'
  readonly showFirst: boolean
}
