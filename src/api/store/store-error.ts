import { PlatnetError } from '../../model/errors.ts'

export type StoreErrorCode =
  /** The requested revision lies below the kept history. */
  | 'compacted'
  /** The requested revision has not been committed yet. */
  | 'future-revision'
  /** The commit is invalid whatever the state: no writes, a key twice, text that is not Unicode. */
  | 'invalid-write'
  /** No space is left on the disk: nothing of the write is stored, and the store takes writes again once there is space. */
  | 'store-full'
  /** The disk refused a write, or etcd has gone back to an older state: the store is read-only until it is opened again. */
  | 'store-failed'
  /** No member of etcd answers, or none that reaches most others; nothing of a write is stored. */
  | 'store-unreachable'
  /** The answer to a write was lost, and it is not known whether it happened. */
  | 'outcome-unknown'
  /** etcd's limits are too low for a write; nothing of it is stored. */
  | 'write-too-large'
  /** A migration needs a source that is there and an empty target. */
  | 'migration-refused'
  /** Another cluster, or another program, has its state at this place. */
  | 'cluster-mismatch'
  /** Old history could not be dropped; nothing else is affected. */
  | 'compaction-failed'
  | 'store-closed'
  /** Another process, or another store of this one, holds the database. */
  | 'store-locked'
  | 'store-corrupt'
  /** The database could not be opened at all: missing folder, permission. */
  | 'open-failed'
  | 'dialect-mismatch'
  | 'backup-failed'
  /** A restore is refused: the target must not be replaced, or the source is no backup. */
  | 'restore-refused'
  /** A newer version of this program wrote the database. */
  | 'schema-too-new'

export class StoreError extends PlatnetError<StoreErrorCode> {}
