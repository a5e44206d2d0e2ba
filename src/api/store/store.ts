import type { CommitResult, Range, StoredEntry, StoreEvent, StoreWrite } from './store-entries.ts'
import type { StoreError } from './store-error.ts'
import type { StoredLengths } from './stored-lengths.ts'

/** What one commit changed. A promise holds back the replay until it resolves, never what is live. */
export type EventListener = (events: readonly StoreEvent[]) => unknown

export interface WatchOptions {
  /** A replay that is behind what is compacted ends with this call: it would hold on to what is forgotten. */
  readonly onBehind?: () => void
  /** Events of other topics may be left out. */
  readonly topic?: Topic
}

/** What an event is about, beside its key: of thousands of watches that each ask for another topic, only those of the event's are told. */
export interface Topic {
  /** The topics of an event. The same function for all watches that choose by the same. */
  readonly of: (event: StoreEvent) => readonly string[]
  readonly name: string
}

export interface StoreWatch {
  /** Every event up to this revision has been handed over: what a bookmark may say. Behind the store's while a replay is under way. */
  readonly revision: number
  close(): void
}

/**
 * A revisioned key-value store, small enough that SQLite and etcd can both stand behind it. Keys are
 * `/registry/<resource>/<namespace>/<name>` (cluster scope without the namespace).
 */
export interface Store {
  /** The newest committed revision. */
  readonly revision: number
  /** Revisions below this one can no longer be watched or read. */
  readonly compactRevision: number
  /** Why the store no longer writes, once it cannot; reads and watches go on. */
  readonly failure: StoreError | undefined
  /** How much is held now. */
  readonly lengths: StoredLengths
  get(key: string): Promise<StoredEntry | undefined>
  /**
   * Entries whose key starts with `prefix` and is greater than `after`, `limit` (at least 1) at most; `atRevision` reads the past.
   * StoreError `compacted` or `future-revision` when that revision cannot be read.
   */
  range(prefix: string, options?: { atRevision?: number; after?: string; limit?: number }): Promise<Range>
  /** How many entries a range without a limit would hold; the same errors. */
  count(prefix: string, options?: { atRevision?: number; after?: string }): Promise<number>
  /**
   * All writes or none, at one new revision, resolved when durable. Rejects with StoreError `store-failed` when the disk refuses:
   * the outcome is then unknown until the store is opened again, as with any write whose answer got lost.
   */
  commit(writes: readonly StoreWrite[]): Promise<CommitResult>
  /**
   * Every event with a revision above `afterRevision` under the prefix, in order, each once; `onEvents` gets what one commit
   * changed. The replay begins after this call has returned. Throws StoreError `compacted` when the history no longer reaches back that far,
   * `future-revision` when it has not come that far yet.
   */
  watch(prefix: string, afterRevision: number, onEvents: EventListener, options?: WatchOptions): StoreWatch
  /** Writes all that is durable at one moment to a file that is not there yet; StoreError `backup-failed`. */
  backup(path: string): Promise<void>
  /** Forgets history up to and including the revision. */
  compact(revision: number): Promise<void>
  close(): Promise<void>
}
