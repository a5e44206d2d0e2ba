import type { SourceLocation } from '../../corefile/errors.ts'
import type { Fallthrough } from '../../corefile/fallthrough.ts'
import type { WireName } from '../../wire/name.ts'

export interface HostsSettings {
  readonly file: string
  /** The Corefile names the file; false where it is the default. */
  readonly namesFile: boolean
  readonly location: SourceLocation
  readonly zones: readonly WireName[]
  readonly inline: readonly string[]
  readonly ttl: number
  readonly reverse: boolean
  readonly reloadMs: number
  readonly fallthrough: Fallthrough
}
