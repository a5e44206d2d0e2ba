import type { DialectName } from '../../model/dialect.ts'
import type { JournalRow } from './journal.ts'
import type { CompactStep, RowsStep } from './sqlite-file.ts'
import type { StoreErrorCode } from './store-error.ts'

/** The calls that the worker supports, with their results. */
export interface SqliteCalls {
  readonly open: {
    readonly ask: { readonly path: string; readonly dialect: DialectName }
    readonly answer: { readonly revision: number; readonly compactRevision: number }
  }
  readonly read: { readonly ask: { readonly fromSeq: number }; readonly answer: RowsStep }
  readonly append: { readonly ask: { readonly rows: readonly JournalRow[] }; readonly answer: undefined }
  readonly compact: {
    readonly ask: { readonly revision: number; readonly fromSeq: number }
    readonly answer: CompactStep
  }
  readonly copy: { readonly ask: { readonly path: string }; readonly answer: undefined }
  readonly recover: { readonly ask: { readonly revision: number }; readonly answer: undefined }
  readonly close: { readonly ask: undefined; readonly answer: undefined }
}

export type SqliteCallName = keyof SqliteCalls

/** One request to the worker; it replies to all of them, in the order sent. */
export type SqliteRequest = {
  [Name in SqliteCallName]: { readonly call: Name; readonly ask: SqliteCalls[Name]['ask'] }
}[SqliteCallName]

export type SqliteReply = { readonly answer: unknown } | { readonly error: StoreErrorText }

/** A StoreError as it crosses the thread boundary, where objects lose their class. */
export interface StoreErrorText {
  readonly code: StoreErrorCode
  readonly message: string
  readonly remedy: string | undefined
}
