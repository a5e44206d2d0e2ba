import type { CommitResult, Range, StoredEntry, StoreEvent, StoreWrite } from './store-entries.ts'
import type { StoreError } from './store-error.ts'
import type { StoredLengths } from './stored-lengths.ts'

/** Called with the changes of one commit. A returned promise delays the replay until it resolves, never live events. */
export type EventListener = (events: readonly StoreEvent[]) => unknown

export interface WatchOptions {
  /** Called when a replay falls behind the compact revision; the replay ends, because it would keep forgotten history in memory. */
  readonly onBehind?: () => void
  /** Limits the watch to a topic: events of other topics may be left out. */
  readonly topic?: Topic
}

/** A topic of events, beside their key: of thousands of watches with different topics, only those of the event's topics get it. */
export interface Topic {
  /** Returns the topics of an event. All watches that select by one criterion share this function. */
  readonly of: (event: StoreEvent) => readonly string[]
  readonly name: string
}

export interface StoreWatch {
  /** The revision up to which every event has been delivered, for bookmarks. It is behind the store's during a replay. */
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
  /** The compact revision: lower ones can no longer be watched or read. */
  readonly compactRevision: number
  /** The error after which the store no longer writes, if any; reads and watches continue. */
  readonly failure: StoreError | undefined
  /** The present size of the content. */
  readonly lengths: StoredLengths
  /**
   * Resolves once reads show every commit that any server of the cluster acknowledged before the call; undefined where they do already, because
   * no other server writes. Rejects with StoreError `store-unreachable`.
   */
  catchUp(): Promise<void> | undefined
  get(key: string): Promise<StoredEntry | undefined>
  /**
   * Returns entries whose key starts with `prefix` and is greater than `after`, at most `limit` (at least 1); `atRevision` reads the past.
   * Rejects with StoreError `compacted` or `future-revision` when that revision cannot be read.
   */
  range(prefix: string, options?: { atRevision?: number; after?: string; limit?: number }): Promise<Range>
  /**
   * Returns the revision of the newest change to a collection, `/registry/pods/`, that reads show, or a later one at which
   * the state was loaded. What was read of a collection holds as long as this number is the same.
   */
  changedAt(collection: string): number
  /** Returns the number of entries that a range without a limit would hold; rejects with the errors of `range`. */
  count(prefix: string, options?: { atRevision?: number; after?: string }): Promise<number>
  /**
   * Commits all writes or none, at one new revision; resolves when durable. Rejects with StoreError `store-failed` when the disk refuses: the
   * outcome is then unknown until the store is opened again, as with any write whose response was lost. Watchers find `traceparent` in the
   * events of the commit, as long as this process has them in memory; it is not stored.
   */
  commit(writes: readonly StoreWrite[], traceparent?: string): Promise<CommitResult>
  /**
   * Delivers every event with a revision above `afterRevision` under the prefix, in order, each once; `onEvents` gets the changes of one
   * commit. The replay begins after this call has returned. Throws StoreError `compacted` when the history no longer reaches back that far,
   * `future-revision` for a later revision.
   */
  watch(prefix: string, afterRevision: number, onEvents: EventListener, options?: WatchOptions): StoreWatch
  /** Writes the durable state of one moment to a file that must not exist yet; rejects with StoreError `backup-failed`. */
  backup(path: string): Promise<void>
  /** Forgets history up to and including the revision. */
  compact(revision: number): Promise<void>
  close(): Promise<void>
}
