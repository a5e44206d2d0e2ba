import type { ApiDocument } from '../document.ts'
import { readDocument } from '../resources/read-document.ts'
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
  const found = await readDocument(store, kind, namespace, name)
  if (found === undefined) throw notFound({ group: '', ...kind }, name)
  return found
}
