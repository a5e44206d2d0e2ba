import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { dirname } from 'node:path'
import type { DialectName } from '../../model/dialect.ts'
import { openSqliteFile } from './sqlite-file.ts'
import { StoreError } from './store-error.ts'

/** The smallest step above every revision that clients may know. */
export const minRevisionStep = 1e6
/** The suffixes of the files that SQLite keeps beside the database. */
const companionSuffixes = ['-wal', '-shm']
const sqliteHeader = 'SQLite format 3\0'

/** Copies a store that no server has open. Throws StoreError: `store-locked` where a server has it open, `backup-failed`. */
export function backUpFile(store: string, dialect: DialectName, backup: string): void {
  if (!existsSync(store)) throw new StoreError('backup-failed', `${store} is not there: nothing to back up`)
  const file = openSqliteFile(store, dialect)
  try {
    file.copyTo(backup)
  } finally {
    file.close()
  }
}

export interface RestoreRequest {
  readonly backup: string
  /** The store's file. */
  readonly store: string
  readonly dialect: DialectName
  /** Whether an existing store may be replaced; it is kept beside the new one as `<store>.replaced`. */
  readonly force: boolean
  readonly nowMs: number
}

/**
 * Replaces the store by a backup, checked, as a whole or not at all. Returns the revision at which the store continues: the microseconds since
 * 1970, which a server with fewer than a million writes a second cannot have reached since the backup. Throws StoreError.
 */
export function restoreFile({ backup, store, dialect, force, nowMs }: RestoreRequest): number {
  const replaced = assertReplaceable(store, dialect, force)
  const temporary = `${store}.restoring`
  removeDatabase(temporary)
  try {
    copyBackup(backup, temporary)
    const revision = renumber(temporary, dialect, Math.max(nowMs * 1000, replaced + minRevisionStep))
    keepReplaced(store)
    renameSync(temporary, store)
    syncFolder(dirname(store))
    return revision
  } finally {
    removeDatabase(temporary)
  }
}

/** Checks that the store may be replaced: an unreadable one may, one in use may not. Returns its newest revision, 0 where it is unknown. */
function assertReplaceable(store: string, dialect: DialectName, force: boolean): number {
  if (!existsSync(store)) return 0
  if (!force) {
    throw new StoreError('restore-refused', `${store} is there already`, {
      remedy: 'choose another data directory, or replace the store with --force',
    })
  }
  try {
    const file = openSqliteFile(store, dialect)
    const { revision } = file
    file.close()
    return revision
  } catch (thrown) {
    if (thrown instanceof StoreError && thrown.code === 'store-locked') throw thrown
    return 0
  }
}

function copyBackup(backup: string, temporary: string): void {
  if (!existsSync(backup)) throw new StoreError('restore-refused', `${backup} is not there`)
  closeSync(openSync(temporary, 'wx', 0o600))
  copyFileSync(backup, temporary)
  const header = readFileSync(temporary).subarray(0, sqliteHeader.length).toString('latin1')
  if (header !== sqliteHeader) throw new StoreError('restore-refused', `${backup} is not a backup of a store`)
}

/** Keeps the replaced store. The store file is never missing: the new one takes its name in one step. */
function keepReplaced(store: string): void {
  if (!existsSync(store)) return
  removeDatabase(`${store}.replaced`)
  linkSync(store, `${store}.replaced`)
  for (const suffix of companionSuffixes) rmSync(`${store}${suffix}`, { force: true })
}

function renumber(path: string, dialect: DialectName, wanted: number): number {
  const file = openSqliteFile(path, dialect)
  try {
    file.assertSound()
    const { revision } = file
    let step = file.compact(revision, 0)
    while (step.nextSeq !== undefined) step = file.compact(revision, step.nextSeq)
    const next = Math.max(wanted, revision + minRevisionStep)
    file.skipTo(next)
    return next
  } finally {
    file.close()
  }
}

export function removeDatabase(path: string): void {
  for (const suffix of ['', ...companionSuffixes]) rmSync(`${path}${suffix}`, { force: true })
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
