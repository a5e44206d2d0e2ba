import { StoreError } from './store-error.ts'
import type { CommitRecord } from './versioned-keys.ts'

/** The journal, which makes commits durable. */
export interface Journal {
  /** Appends the whole group or nothing; durable once resolved. Never called again before the last call has settled. */
  append(group: readonly CommitRecord[]): Promise<void>
  /** Drops the rows that no revision from `revision` on can show, and stores it as the compact revision. */
  compact(revision: number): Promise<void>
  /** Copies the durable state of one moment to a file that must not exist yet. */
  copyTo(path: string): Promise<void>
  /** Resolves once writes are possible after `store-full`; rejects with `store-full` until then. `revision` is the newest durable one. */
  recover(revision: number): Promise<void>
  close(): Promise<void>
}

/** A journal that stores nothing, for tests and throw-away servers. */
export const forgetfulJournal: Journal = {
  append: async () => {},
  compact: async () => {},
  copyTo: async () => {
    throw new StoreError('backup-failed', 'a store in memory has no file to back up')
  },
  recover: async () => {},
  close: async () => {},
}

/** The content of a journal when it was opened. */
export interface JournalContent {
  readonly revision: number
  readonly compactRevision: number
  /** The rows in order of revision: the state at the compact revision, then every write since. */
  readonly rows: AsyncIterable<readonly JournalRow[]>
}

/** One write in the journal; the value is null for a deletion. */
export interface JournalRow {
  readonly revision: number
  readonly key: string
  readonly value: string | null
  readonly createRevision: number
}

export function toJournalRows(record: CommitRecord): JournalRow[] {
  return record.events.map((event) => {
    if (event.kind === 'put') return event.entry
    return { revision: event.revision, key: event.key, value: null, createRevision: event.previous.createRevision }
  })
}
