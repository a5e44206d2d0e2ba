import type { ApiDocument } from '../document.ts'
import type { Store } from '../store/index.ts'
import { collectionPrefix, type Keyed, storeKey } from './keys.ts'

/** Reads an object as it is stored, without its resourceVersion; undefined where there is none. */
export async function readDocument(
  store: Store,
  resource: Keyed,
  namespace: string | undefined,
  name: string,
): Promise<ApiDocument | undefined> {
  const entry = await store.get(storeKey(resource, namespace, name))
  return entry && (JSON.parse(entry.value) as ApiDocument)
}

/** Reads the objects of a namespace, or all of a kind, as they are stored. */
export async function readDocuments(
  store: Store,
  resource: Keyed,
  namespace: string | undefined,
): Promise<readonly ApiDocument[]> {
  const { entries } = await store.range(collectionPrefix(resource, namespace))
  return entries.map(({ value }) => JSON.parse(value) as ApiDocument)
}
