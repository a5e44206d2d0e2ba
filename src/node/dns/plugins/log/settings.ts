import type { WireName } from '../../wire/name.ts'

export type LogClass = 'all' | 'denial' | 'error' | 'success'

export interface LogRule {
  readonly zone: WireName
  /** The format of a line, with CoreDNS' `{fields}`. */
  readonly format: string
  readonly classes: readonly LogClass[]
}
