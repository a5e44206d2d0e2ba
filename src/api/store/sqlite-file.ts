import { closeSync, openSync, rmSync, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { DialectName } from '../../model/dialect.ts'
import { describeError } from '../../model/errors.ts'
import type { JournalRow } from './journal.ts'
import { toStoreError } from './sqlite-error.ts'
import { type MetaName, prepareSchema, readMeta, writeMeta } from './sqlite-schema.ts'
import { StoreError } from './store-error.ts'

/** The wait for a lock that another process, which is just ending, may still hold. */
const lockTimeoutMs = 500
/** The number of rows that one step reads, or that one step of a compaction examines. */
const rowsPerStep = 500
/** The space that must be free before a full store takes writes again, so that it does not change its mind with each write. */
const recoveryBytes = 1024 * 1024

/** A step through the history by its sequence; the last step has no `nextSeq`. */
export interface RowsStep {
  readonly rows: readonly JournalRow[]
  readonly nextSeq: number | undefined
}

export interface CompactStep {
  readonly nextSeq: number | undefined
}

/** The database file. All calls block: it belongs to a thread of its own. */
export class SqliteFile {
  readonly #database: DatabaseSync
  readonly #insert: StatementSync
  readonly #select: StatementSync
  readonly #findLast: StatementSync
  readonly #dropSuperseded: StatementSync

  constructor(database: DatabaseSync) {
    this.#database = database
    this.#insert = database.prepare('INSERT INTO history (revision, key, value, create_revision) VALUES (?, ?, ?, ?)')
    this.#select = database.prepare(
      'SELECT seq, revision, key, value, create_revision FROM history WHERE seq >= ? ORDER BY seq LIMIT ?',
    )
    this.#findLast = database.prepare(
      'SELECT seq, revision FROM (SELECT seq, revision FROM history WHERE seq >= ? ORDER BY seq LIMIT ?) ORDER BY seq DESC LIMIT 1',
    )
    this.#dropSuperseded = database.prepare(dropSupersededSql)
  }

  get revision(): number {
    return this.#readNumber('revision')
  }

  get compactRevision(): number {
    return this.#readNumber('compact_revision')
  }

  /** Appends all rows and the newest revision in one transaction; rows are in order of revision. */
  append(rows: readonly JournalRow[]): void {
    const newest = rows.at(-1)
    if (newest === undefined) return
    this.#inTransaction(() => {
      for (const { revision, key, value, createRevision } of rows)
        this.#insert.run(revision, key, value, createRevision)
      writeMeta(this.#database, 'revision', newest.revision)
    })
  }

  read(fromSeq: number): RowsStep {
    const found = this.#select.all(fromSeq, rowsPerStep)
    const last = found.at(-1)
    const nextSeq = found.length < rowsPerStep ? undefined : Number(last?.['seq']) + 1
    return { rows: found.map(toJournalRow), nextSeq }
  }

  /**
   * Drops, among the next rows of the history, those that no revision from `revision` on can show. Ascending order matters: a deletion goes
   * after the versions it hides, so that an interruption cannot bring them back.
   */
  compact(revision: number, fromSeq: number): CompactStep {
    const last = this.#findLast.get(fromSeq, rowsPerStep)
    const lastSeq = last === undefined ? fromSeq : Number(last['seq'])
    this.#inTransaction(() => {
      if (revision > this.compactRevision) writeMeta(this.#database, 'compact_revision', revision)
      this.#dropSuperseded.run({ from: fromSeq, to: lastSeq, revision })
    })
    const isDone = last === undefined || Number(last['revision']) > revision
    return { nextSeq: isDone ? undefined : lastSeq + 1 }
  }

  /** Checks every page. Throws StoreError `store-corrupt`. */
  assertSound(): void {
    const found = this.#database.prepare('PRAGMA quick_check(1)').get()?.['quick_check']
    if (found !== 'ok') throw new StoreError('store-corrupt', `the database is damaged: ${String(found)}`)
  }

  /** Copies the database as of one moment, compacted; writes wait meanwhile. The file must not exist yet. */
  copyTo(path: string): void {
    createPrivateFile(path)
    try {
      this.#database.prepare('VACUUM INTO ?').run(path)
    } catch (thrown) {
      rmSync(path, { force: true })
      throw new StoreError('backup-failed', `${path} could not be written: ${describeError(thrown)}`, { cause: thrown })
    }
  }

  /**
   * Writes again after `store-full`. Throws StoreError `store-full` while there is too little space, and `store-failed` if the newest durable
   * revision is not the given one.
   */
  recover(revision: number, path: string): void {
    const { bfree, bsize } = statfsSync(dirname(path))
    if (bfree * bsize < recoveryBytes) throw new StoreError('store-full', `no space is left on the disk of ${path}`)
    if (this.revision !== revision)
      throw new StoreError('store-failed', `${path} holds revision ${this.revision}, expected ${revision}`)
    this.#inTransaction(() => writeMeta(this.#database, 'revision', revision))
  }

  /** Continues at a revision above every earlier one: only the state is kept, so that clients with other revisions must list again. */
  skipTo(revision: number): void {
    this.#inTransaction(() => {
      writeMeta(this.#database, 'revision', revision)
      writeMeta(this.#database, 'compact_revision', revision)
    })
  }

  close(): void {
    this.#database.close()
  }

  #readNumber(name: MetaName): number {
    return Number(readMeta(this.#database, name))
  }

  #inTransaction(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      work()
      this.#database.exec('COMMIT')
    } catch (thrown) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw thrown
    }
  }
}

const dropSupersededSql = `DELETE FROM history WHERE seq IN (
  SELECT seq FROM history AS old
  WHERE old.seq BETWEEN :from AND :to AND old.revision <= :revision AND (
    old.value IS NULL
    OR EXISTS (SELECT 1 FROM history WHERE key = old.key AND revision > old.revision AND revision <= :revision)
  )
)`

function toJournalRow(row: Record<string, unknown>): JournalRow {
  const value = row['value']
  return {
    revision: Number(row['revision']),
    key: String(row['key']),
    value: value === null ? null : String(value),
    createRevision: Number(row['create_revision']),
  }
}

/** Opens or creates the database and locks it for this process. Throws StoreError. */
export function openSqliteFile(path: string, dialect: DialectName): SqliteFile {
  let database: DatabaseSync | undefined
  try {
    createPrivateFile(path)
    database = new DatabaseSync(path, { timeout: lockTimeoutMs })
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    prepareSchema(database, path, dialect)
    return new SqliteFile(database)
  } catch (thrown) {
    database?.close()
    throw toStoreError(thrown, path)
  }
}

/** Creates the file with mode 0600, because it holds Secrets. SQLite gives its other files the mode of the first. */
function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (thrown) {
    if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EEXIST')) throw thrown
  }
}
