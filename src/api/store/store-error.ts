import { PlatnetError } from '../../model/errors.ts'

export type StoreErrorCode =
  /** The revision asked for lies below the kept history. */
  | 'compacted'
  /** The revision asked for has not been committed yet. */
  | 'future-revision'
  /** The commit makes no sense whatever the state: no writes, a key twice, text that is not Unicode. */
  | 'invalid-write'
  /** The disk refused a write: the store only reads from now on. */
  | 'store-failed'
  /** Old history could not be dropped; nothing else is harmed. */
  | 'compaction-failed'
  | 'store-closed'
  /** Another process, or another store of this one, holds the database. */
  | 'store-locked'
  | 'store-corrupt'
  /** The database could not be opened at all: missing folder, permission. */
  | 'open-failed'
  | 'dialect-mismatch'
  | 'backup-failed'
  /** There is no restoring over what is there, or from what is no backup. */
  | 'restore-refused'
  /** A newer version of this program wrote the database. */
  | 'schema-too-new'

export class StoreError extends PlatnetError<StoreErrorCode> {}
