import type { DialectName } from '../../model/dialect.ts'
import { EmbeddedStore, type EmbeddedStoreOptions } from './embedded-store.ts'
import { forgetfulJournal } from './journal.ts'
import { startSqliteJournal } from './sqlite-journal.ts'
import type { Store } from './store.ts'
import { loadState, StoreState } from './store-state.ts'

interface StoreOptions extends EmbeddedStoreOptions {
  /** The path of the database file; the file is created where it is missing, its folder is not. */
  readonly path: string
  readonly dialect: DialectName
}

/** Opens the durable store. Throws StoreError `store-locked`, `store-corrupt`, `dialect-mismatch`, `schema-too-new`, `open-failed`. */
export async function openStore({ path, dialect, ...options }: StoreOptions): Promise<Store> {
  const journal = startSqliteJournal()
  try {
    const state = await loadState(await journal.load(path, dialect))
    return new EmbeddedStore(journal, state, options)
  } catch (thrown) {
    await journal.close()
    throw thrown
  }
}

/** Opens a store without a disk: its content ends with the process. */
export function openMemoryStore(options: EmbeddedStoreOptions): Store {
  return new EmbeddedStore(forgetfulJournal, new StoreState(1, 0), options)
}
