import { existsSync, linkSync } from 'node:fs'
import { minRevisionStep, removeDatabase } from '../backup.ts'
import type { JournalRow } from '../journal.ts'
import { openSqliteFile, type SqliteFile } from '../sqlite-file.ts'
import type { StoredEntry } from '../store-entries.ts'
import { StoreError } from '../store-error.ts'
import { loadState } from '../store-state.ts'
import { EtcdClient, type EtcdConnection } from './etcd-client.ts'
import { EtcdCallError, toStoreError } from './etcd-error.ts'
import { KeySpace } from './key-space.ts'
import { loadNewestState } from './load-etcd.ts'
import { deletionOf, equalModRevision, etcdMethods, putOf, type TxnOperation, toNumber } from './messages.ts'
import { assertUsable, type EtcdPlace, putIdentity, readPlace } from './open-etcd-store.ts'

export interface Migration {
  /** The file of the store in SQLite. */
  readonly sqlite: string
  readonly connection: EtcdConnection
  readonly place: EtcdPlace
  /** Called with the number of keys that are written and of all. */
  readonly onProgress: (done: number, all: number) => void
}

/** Below the limits of etcd: 128 operations and 1.5 MiB a transaction. */
const maxBatchKeys = 100
const maxBatchLength = 512 * 1024
const rowsPerAppend = 500

/**
 * Copies the state from SQLite to an empty place in etcd, where revisions go on above those of the source. No server may run. Returns the number
 * of keys. Throws StoreError: `store-locked`, `migration-refused`.
 */
export async function migrateToEtcd({ sqlite, connection, place, onProgress }: Migration): Promise<number> {
  if (!existsSync(sqlite)) throw refused(`${sqlite} is not there: nothing to migrate`)
  const { revision, entries } = await readSqlite(sqlite, place)
  return withClient(connection, async (client) => {
    const keys = new KeySpace(place.prefix)
    const { header, kvs } = await client.untilAnswered(etcdMethods.range, { ...keys.all, limit: 1 })
    if (kvs.length > 0) throw refused(`etcd holds keys below ${place.prefix}/ already`)
    await write(client, [putOf(keys.migration, String(entries.length))])
    let done = 0
    for (const batch of batches(entries)) {
      const puts = batch.map(({ key, value }) => putOf(keys.toEtcd(key), value))
      await write(client, puts)
      done += batch.length
      onProgress(done, entries.length)
    }
    const revisionOffset = Math.max(0, revision + minRevisionStep - toNumber(header.revision))
    // The identity comes last: until then no server starts with this place.
    const identity = putIdentity(keys, place, revisionOffset)
    await write(client, [identity], [deletionOf(keys.migration)])
    return entries.length
  })
}

/**
 * Copies the newest state in etcd to a new file of SQLite, where revisions go on above those of the source. No server may run. Returns the number
 * of keys. Throws StoreError: `migration-refused`.
 */
export async function migrateToSqlite({ sqlite, connection, place, onProgress }: Migration): Promise<number> {
  if (existsSync(sqlite)) throw refused(`${sqlite} is there already`)
  const state = await withClient(connection, async (client) => loadNewestState(client, await readPlace(client, place)))
  const entries = state.range('', {}).entries.toSorted((a, b) => a.revision - b.revision)
  const temporary = `${sqlite}.migrating`
  removeDatabase(temporary)
  try {
    const file = openSqliteFile(temporary, place.dialect)
    try {
      for (let done = 0; done < entries.length; done += rowsPerAppend) {
        file.append(entries.slice(done, done + rowsPerAppend))
        onProgress(Math.min(entries.length, done + rowsPerAppend), entries.length)
      }
      file.skipTo(state.revision + minRevisionStep)
    } finally {
      file.close()
    }
    linkSync(temporary, sqlite)
    return entries.length
  } finally {
    removeDatabase(temporary)
  }
}

async function readSqlite(path: string, { dialect }: EtcdPlace) {
  const file = openSqliteFile(path, dialect)
  try {
    file.assertSound()
    const { revision, compactRevision } = file
    const state = await loadState({ revision, compactRevision, rows: readRows(file) })
    return { revision, entries: state.range('', {}).entries }
  } finally {
    file.close()
  }
}

async function* readRows(file: SqliteFile): AsyncGenerator<readonly JournalRow[]> {
  let from: number | undefined = 0
  while (from !== undefined) {
    const { rows, nextSeq }: ReturnType<SqliteFile['read']> = file.read(from)
    yield rows
    from = nextSeq
  }
}

function* batches(entries: readonly StoredEntry[]): Generator<readonly StoredEntry[]> {
  let batch: StoredEntry[] = []
  let length = 0
  for (const entry of entries) {
    if (batch.length > 0 && (batch.length === maxBatchKeys || length + entry.value.length > maxBatchLength)) {
      yield batch
      batch = []
      length = 0
    }
    batch.push(entry)
    length += entry.value.length
  }
  if (batch.length > 0) yield batch
}

/** Writes keys that are not there yet. It may be sent twice where an answer is lost: the second one finds them then. */
async function write(
  client: EtcdClient,
  puts: readonly TxnOperation[],
  more: readonly TxnOperation[] = [],
): Promise<void> {
  const created = puts.flatMap((put) => ('requestPut' in put ? [put.requestPut.key] : []))
  await client.untilAnswered(etcdMethods.txn, {
    compare: created.map((key) => equalModRevision(key, 0)),
    success: [...puts, ...more],
  })
}

async function withClient<T>(connection: EtcdConnection, work: (client: EtcdClient) => Promise<T>): Promise<T> {
  const client = new EtcdClient(connection)
  try {
    await assertUsable(client)
    return await work(client)
  } catch (thrown) {
    throw thrown instanceof EtcdCallError ? toStoreError(thrown) : thrown
  } finally {
    client.close()
  }
}

function refused(message: string): StoreError {
  return new StoreError('migration-refused', message, {
    remedy: 'migrate from a store that is there to an empty place',
  })
}
