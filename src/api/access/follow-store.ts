import type { ApiDocument } from '../document.ts'
import type { Store, StoredEntry, StoreEvent, StoreWatch } from '../store/index.ts'

/**
 * Passes on every document under the prefix, at first and after each change: its path below the prefix, and undefined after its deletion. The
 * follower receives a commit before the commit's writer gets its answer. A document whose text `mayMatter` refuses is
 * passed on as a deleted one, without being parsed.
 */
export async function followStore(
  store: Store,
  prefix: string,
  onDocument: (path: string, document: ApiDocument | undefined) => void,
  mayMatter: (text: string) => boolean = () => true,
): Promise<StoreWatch> {
  const { revision, entries } = await store.range(prefix)
  const pass = ({ key, value }: StoredEntry) =>
    onDocument(key.slice(prefix.length), mayMatter(value) ? parse(value) : undefined)
  entries.forEach(pass)
  const take = (event: StoreEvent) => {
    if (event.kind === 'delete') onDocument(event.key.slice(prefix.length), undefined)
    else pass(event.entry)
  }
  return store.watch(prefix, revision, (events) => events.forEach(take))
}

/** Returns the document in its stored form, independent of the versions that serve it. */
function parse(value: string): ApiDocument {
  return JSON.parse(value) as ApiDocument
}
