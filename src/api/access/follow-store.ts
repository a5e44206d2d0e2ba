import type { ApiDocument } from '../document.ts'
import type { Store, StoredEntry, StoreEvent, StoreWatch } from '../store/index.ts'

/**
 * Hands over every document under the prefix, now and whenever one changes: its path below the prefix, undefined once it is gone. A commit has
 * been handed over before its writer hears of it.
 */
export async function followStore(
  store: Store,
  prefix: string,
  onDocument: (path: string, document: ApiDocument | undefined) => void,
): Promise<StoreWatch> {
  const { revision, entries } = await store.range(prefix)
  for (const entry of entries) onDocument(entry.key.slice(prefix.length), parse(entry))
  const take = (event: StoreEvent) => {
    if (event.kind === 'delete') onDocument(event.key.slice(prefix.length), undefined)
    else onDocument(event.entry.key.slice(prefix.length), parse(event.entry))
  }
  return store.watch(prefix, revision, (events) => events.forEach(take))
}

/** As it is stored, whatever the versions that show it. */
function parse({ value }: StoredEntry): ApiDocument {
  return JSON.parse(value) as ApiDocument
}
