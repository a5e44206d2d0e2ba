import { setImmediate as nextTurn } from 'node:timers/promises'
import { countLeading } from '../../model/binary-search.ts'
import type { JournalContent, JournalRow } from './journal.ts'
import type { Range, StoredEntry, StoreEvent } from './store-entries.ts'
import { StoreError } from './store-error.ts'
import { StoredLengths } from './stored-lengths.ts'
import { type CommitRecord, type RangeOptions, VersionedKeys } from './versioned-keys.ts'

/** The number of commits forgotten before other work may run. */
const compactSlice = 500

/** The durable state in memory: every key's versions and every commit since the compact revision. */
export class StoreState {
  readonly lengths = new StoredLengths()
  readonly #keys = new VersionedKeys()
  /** Every commit above the compact revision, in order of revision. */
  readonly #history: CommitRecord[] = []
  #historyLength = 0
  #revision: number
  #compactRevision: number
  readonly #loadedAt: number

  constructor(revision: number, compactRevision: number) {
    this.#loadedAt = compactRevision
    this.#revision = revision
    this.#compactRevision = compactRevision
  }

  get revision(): number {
    return this.#revision
  }

  get compactRevision(): number {
    return this.#compactRevision
  }

  /** The size of the values in the history, in characters, current values included. */
  get historyLength(): number {
    return this.#historyLength
  }

  get(key: string): StoredEntry | undefined {
    return this.#keys.get(key)
  }

  /** Returns no revision before that of the load: deletions before it left no trace. */
  changedAt(collection: string): number {
    return Math.max(this.#keys.changedAt(collection), this.#loadedAt)
  }

  range(prefix: string, options: RangeOptions): Range {
    return this.#keys.range(prefix, this.#readable(options.atRevision), options)
  }

  count(prefix: string, { atRevision, after }: Omit<RangeOptions, 'limit'>): number {
    return this.#keys.count(prefix, this.#readable(atRevision), after)
  }

  /** Returns every commit above the revision, in order. */
  since(revision: number): CommitRecord[] {
    this.#readable(revision)
    return this.#history.slice(countLeading(this.#history, (record) => record.revision <= revision))
  }

  apply(record: CommitRecord): void {
    this.#keys.apply(record)
    for (const event of record.events) this.lengths.apply(event)
    if (record.revision > this.#compactRevision) {
      this.#history.push(record)
      this.#historyLength += lengthOf(record)
    }
    this.#revision = Math.max(this.#revision, record.revision)
  }

  /** Moves on to a revision at which nothing has changed here. */
  reach(revision: number): void {
    this.#revision = Math.max(this.#revision, revision)
  }

  /** Returns the revision up to which history may be forgotten so that at most `length` characters of the newest history stay. */
  revisionBefore(length: number): number {
    let kept = 0
    const oldest = this.#history.findLastIndex((record) => {
      kept += lengthOf(record)
      return kept > length
    })
    return this.#history[oldest]?.revision ?? this.#compactRevision
  }

  /** Refuses older readers at once, then forgets in slices, so that other work does not wait long. */
  async compact(revision: number): Promise<void> {
    this.#compactRevision = Math.max(this.#compactRevision, revision)
    let dropped = this.#dropHistory(revision)
    while (dropped > 0) {
      await nextTurn()
      dropped = this.#dropHistory(revision)
    }
  }

  assertReached(revision: number): void {
    if (revision <= this.#revision) return
    throw new StoreError('future-revision', `revision ${revision} does not exist yet: the newest is ${this.#revision}`)
  }

  #dropHistory(revision: number): number {
    const count = Math.min(
      countLeading(this.#history, (record) => record.revision <= revision),
      compactSlice,
    )
    for (const record of this.#history.splice(0, count)) {
      this.#historyLength -= lengthOf(record)
      for (const event of record.events) this.#keys.compact(keyOfEvent(event), revision)
    }
    return count
  }

  /** Returns the revision to read at: the newest one or the requested earlier one, which must be kept. */
  #readable(revision: number = this.#revision): number {
    this.#assertKept(revision)
    this.assertReached(revision)
    return revision
  }

  #assertKept(revision: number): void {
    if (revision >= this.#compactRevision) return
    throw new StoreError(
      'compacted',
      `revision ${revision} is no longer kept: history begins at ${this.#compactRevision}`,
      { remedy: 'list again and continue from the revision of that list' },
    )
  }
}

function lengthOf({ events }: CommitRecord): number {
  return events.reduce((length, event) => length + (event.kind === 'put' ? event.entry.value.length : 0), 0)
}

export function keyOfEvent(event: StoreEvent): string {
  return event.kind === 'put' ? event.entry.key : event.key
}

/** Returns the events that lead from one state to a later one, at the later one's revision; what happened in between is not in them. */
export function stateDifference(before: StoreState, after: StoreState): readonly StoreEvent[] {
  const gone = before
    .range('', {})
    .entries.filter(({ key }) => after.get(key) === undefined)
    .map((previous): StoreEvent => ({ kind: 'delete', key: previous.key, revision: after.revision, previous }))
  const changed = after
    .range('', {})
    .entries.filter(({ key, revision }) => before.get(key)?.revision !== revision)
    .map((entry): StoreEvent => ({ kind: 'put', entry, previous: before.get(entry.key) }))
  return [...gone, ...changed]
}

/** Loads the state that a journal describes. */
export async function loadState(content: JournalContent): Promise<StoreState> {
  const state = new StoreState(content.revision, content.compactRevision)
  let commit: JournalRow[] = []
  for await (const rows of content.rows) {
    for (const row of rows) {
      if (commit.length > 0 && commit[0]?.revision !== row.revision) {
        applyRows(state, commit)
        commit = []
      }
      commit.push(row)
    }
  }
  applyRows(state, commit)
  return state
}

function applyRows(state: StoreState, rows: readonly JournalRow[]): void {
  const [first] = rows
  if (first === undefined) return
  const events = rows.map((row) => toEvent(row, state.get(row.key))).filter((event) => event !== undefined)
  state.apply({ revision: first.revision, events })
}

/** Returns the event of a row. A deletion of an absent key is left over from an interrupted compaction and gives none. */
function toEvent(row: JournalRow, previous: StoredEntry | undefined): StoreEvent | undefined {
  const { key, value, createRevision, revision } = row
  if (value !== null) return { kind: 'put', entry: { key, value, createRevision, revision }, previous }
  return previous === undefined ? undefined : { kind: 'delete', key, revision, previous }
}
