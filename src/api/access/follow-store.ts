import type { ApiDocument } from '../document.ts'
import type { Store, StoredEntry, StoreEvent, StoreWatch } from '../store/index.ts'

/**
 * Passes on every document under the prefix, at first and after each change: its path below the prefix, and undefined after its deletion. The
 * follower receives a commit before the commit's writer gets its answer.
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

/** Returns the document in its stored form, independent of the versions that serve it. */
function parse({ value }: StoredEntry): ApiDocument {
  return JSON.parse(value) as ApiDocument
}
