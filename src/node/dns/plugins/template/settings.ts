import type { SourceLocation } from '../../corefile/errors.ts'
import type { Fallthrough } from '../../corefile/fallthrough.ts'
import type { WireName } from '../../wire/name.ts'

export interface TemplateSettings {
  readonly location: SourceLocation
  readonly class: number
  readonly type: number
  readonly zones: readonly WireName[]
  /** Regular expressions (RE2), of which one must match; none matches every name. */
  readonly match: readonly string[]
  readonly answer: readonly string[]
  readonly additional: readonly string[]
  readonly authority: readonly string[]
  readonly rcode: number
  readonly extendedError?: { readonly code: number; readonly reason: string }
  readonly fallthrough: Fallthrough
}
