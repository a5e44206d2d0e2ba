import type { WireName } from '../../wire/name.ts'

export type LogClass = 'all' | 'denial' | 'error' | 'success'

export interface LogRule {
  readonly zone: WireName
  /** With `{fields}` as CoreDNS names them. */
  readonly format: string
  readonly classes: readonly LogClass[]
}
