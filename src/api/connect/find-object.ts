import type { ApiDocument } from '../document.ts'
import { storeKey } from '../resources/keys.ts'
import { notFound } from '../status.ts'
import type { Store } from '../store/index.ts'

interface Named {
  readonly plural: string
  readonly kind: string
}

export const pod: Named = { plural: 'pods', kind: 'Pod' }
export const node: Named = { plural: 'nodes', kind: 'Node' }
export const service: Named = { plural: 'services', kind: 'Service' }
export const endpoints: Named = { plural: 'endpoints', kind: 'Endpoints' }

/** Reads an object of the core group; a 404 where there is none. */
export async function findObject(
  store: Store,
  kind: Named,
  namespace: string | undefined,
  name: string,
): Promise<ApiDocument> {
  const entry = await store.get(storeKey(kind, namespace, name))
  if (entry === undefined) throw notFound({ group: '', ...kind }, name)
  return JSON.parse(entry.value) as ApiDocument
}
