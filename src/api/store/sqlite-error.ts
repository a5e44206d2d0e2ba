import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { describeError } from '../../model/errors.ts'
import { StoreError } from './store-error.ts'

/** Primary result codes, https://www.sqlite.org/rescode.html */
const sqliteBusy = 5
const sqliteCorrupt = 11
const sqliteFull = 13
const sqliteCannotOpen = 14
const sqliteNotADatabase = 26

/** Returns the StoreError for a database at the path that could not be opened or written. */
export function toStoreError(thrown: unknown, path: string): StoreError {
  if (thrown instanceof StoreError) return thrown
  const code = primaryCode(thrown)
  if (code === sqliteBusy) {
    return new StoreError('store-locked', `${path} is in use by another process`, {
      remedy: 'stop the other server, or give this one another folder with --data-dir',
      cause: thrown,
    })
  }
  if (code === sqliteFull) {
    return new StoreError('store-full', `no space is left on the disk of ${path}`, {
      remedy: 'free space there; the store then takes writes again by itself',
      cause: thrown,
    })
  }
  if (code === sqliteCorrupt || code === sqliteNotADatabase) {
    return new StoreError('store-corrupt', `${path} is damaged and cannot be read`, {
      remedy: 'restore a backup, or move the file away to start empty',
      cause: thrown,
    })
  }
  const cause = (code === sqliteCannotOpen ? findRefusal(path) : undefined) ?? thrown
  return new StoreError('open-failed', `${path} could not be opened: ${describeError(cause)}`, {
    remedy: 'see that the folder exists and that this user may write to it',
    cause,
  })
}

/** Returns the system's error for the file, or for its folder where the file is not there: SQLite says neither ENOENT nor EACCES. */
function findRefusal(path: string): unknown {
  const isThere = existsSync(path)
  try {
    accessSync(isThere ? path : dirname(path), constants.R_OK | constants.W_OK)
    return undefined
  } catch (error) {
    return error
  }
}

/** Returns the primary result code: the low byte of the extended code that node:sqlite puts into `errcode`. */
function primaryCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number') return undefined
  return thrown.errcode & 0xff
}
