import { StoreError } from './store-error.ts'
import type { CommitRecord } from './versioned-keys.ts'

/** Where commits become durable. */
export interface Journal {
  /** All of the group or none, durable once resolved. Never called again before the last call has settled. */
  append(group: readonly CommitRecord[]): Promise<void>
  /** Drops what no revision from `revision` on can show, and remembers it as the compact revision. */
  compact(revision: number): Promise<void>
  /** A copy of all that is durable at one moment, in a file that is not there yet. */
  copyTo(path: string): Promise<void>
  close(): Promise<void>
}

/** Keeps nothing: for tests and throw-away servers. */
export const forgetfulJournal: Journal = {
  append: async () => {},
  compact: async () => {},
  copyTo: async () => {
    throw new StoreError('backup-failed', 'a store in memory has no file to back up')
  },
  close: async () => {},
}

/** What a journal held when it was opened. */
export interface JournalContent {
  readonly revision: number
  readonly compactRevision: number
  /** In order of revision: the state at the compact revision, then every write since. */
  readonly rows: AsyncIterable<readonly JournalRow[]>
}

/** One write as it stands in the journal; the value is null for a deletion. */
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
