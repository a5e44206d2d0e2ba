import { describeError } from '../../model/errors.ts'
import { StoreError } from './store-error.ts'

/** Primary result codes, https://www.sqlite.org/rescode.html */
const sqliteBusy = 5
const sqliteCorrupt = 11
const sqliteFull = 13
const sqliteNotADatabase = 26

/** Returns the StoreError for a database at the path that could not be opened or written. */
export function toStoreError(thrown: unknown, path: string): StoreError {
  if (thrown instanceof StoreError) return thrown
  const code = primaryCode(thrown)
  if (code === sqliteBusy) {
    return new StoreError('store-locked', `${path} is in use by another process`, {
      remedy: 'stop the other server, or give this one another data directory',
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
  return new StoreError('open-failed', `${path} could not be opened: ${describeError(thrown)}`, {
    remedy: 'see that the folder exists and may be written to',
    cause: thrown,
  })
}

/** Returns the primary result code: the low byte of the extended code that node:sqlite puts into `errcode`. */
function primaryCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown) || typeof thrown.errcode !== 'number') return undefined
  return thrown.errcode & 0xff
}
