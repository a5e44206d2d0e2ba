import type { ApiDocument } from '../document.ts'
import type { Store } from '../store/index.ts'
import { type Keyed, storeKey } from './keys.ts'

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
