import type { SourceLocation } from '../../corefile/errors.ts'

export type MatchKind = 'exact' | 'prefix' | 'suffix' | 'substring' | 'regex'

/** One rule. Names are text in lower case with a final dot; parts of names are text in lower case. */
export type RewriteRule = { readonly location: SourceLocation; readonly next: 'continue' | 'stop' } & (
  | {
      readonly field: 'name'
      readonly match: MatchKind
      readonly from: string
      readonly to: string
      /** The names of the answer are restored without a rule of their own. */
      readonly auto: boolean
      readonly answer: readonly AnswerRewrite[]
    }
  | { readonly field: 'type' | 'class'; readonly from: number; readonly to: number }
  | {
      readonly field: 'ttl'
      readonly match: MatchKind
      readonly from: string
      readonly min: number
      readonly max: number
    }
)

/** Names of records (`name`) or in their data (`value`) that match are replaced. */
export interface AnswerRewrite {
  readonly part: 'name' | 'value'
  /** A regular expression (RE2). */
  readonly pattern: string
  readonly replacement: string
}
