import type { DatabaseSync } from 'node:sqlite'
import type { DialectName } from '../../model/dialect.ts'
import { StoreError } from './store-error.ts'

/** The revision of a store without any write: 0 means "any" in the API. */
const firstRevision = 1

/**
 * One step for each schema version, the first from nothing to version 1; a step is never changed once it has shipped.
 * `history` holds, in order of revision, the state at the compact revision and every write since (value NULL: deleted).
 */
const migrations: readonly string[] = [
  `CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT;
   CREATE TABLE history (
     seq INTEGER PRIMARY KEY,
     revision INTEGER NOT NULL,
     key TEXT NOT NULL,
     value TEXT,
     create_revision INTEGER NOT NULL
   ) STRICT;
   CREATE UNIQUE INDEX history_by_key ON history (key, revision);
   INSERT INTO meta VALUES ('revision', ${firstRevision}), ('compact_revision', 0);`,
]

export type MetaName = 'schema_version' | 'dialect' | 'revision' | 'compact_revision'

/** Migrates the database to the newest schema and claims it for the dialect, or refuses and leaves it unchanged. */
export function prepareSchema(database: DatabaseSync, path: string, dialect: DialectName): void {
  database.exec('BEGIN EXCLUSIVE')
  try {
    const version = readSchemaVersion(database, path)
    if (version > migrations.length) throw schemaTooNew(path, version)
    if (version > 0) assertDialect(path, String(readMeta(database, 'dialect')), dialect)
    for (const step of migrations.slice(version)) database.exec(step)
    writeMeta(database, 'dialect', dialect)
    writeMeta(database, 'schema_version', migrations.length)
    database.exec('COMMIT')
  } catch (thrown) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw thrown
  }
}

export function readMeta(database: DatabaseSync, name: MetaName): unknown {
  return database.prepare('SELECT value FROM meta WHERE name = ?').get(name)?.['value']
}

export function writeMeta(database: DatabaseSync, name: MetaName, value: string | number): void {
  database
    .prepare('INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value')
    .run(name, value)
}

/** Reads the schema version; 0 for an empty database. */
function readSchemaVersion(database: DatabaseSync, path: string): number {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all()
  if (tables.length === 0) return 0
  const version = tables.some((table) => table['name'] === 'meta') ? readMeta(database, 'schema_version') : undefined
  if (typeof version === 'number' && version >= 1) return version
  throw new StoreError('store-corrupt', `${path} is a database, but not one of this store`, {
    remedy: 'name another path, or move the file away',
  })
}

function assertDialect(path: string, found: string, wanted: DialectName): void {
  if (found === wanted) return
  throw new StoreError(
    'dialect-mismatch',
    `${path} was made in the dialect ${found} and cannot be opened in ${wanted}`,
    {
      remedy: `start with --dialect ${found}, or with another data directory`,
    },
  )
}

function schemaTooNew(path: string, version: number): StoreError {
  return new StoreError(
    'schema-too-new',
    `${path} has schema version ${version}, this program knows up to ${migrations.length}`,
    { remedy: 'run the newer version that wrote it, or restore an older backup' },
  )
}
