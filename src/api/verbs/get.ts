import type { Answer, ItemTarget } from '../request/request.ts'
import { storeKey } from '../resources/keys.ts'
import { toWireText } from '../resources/stored-text.ts'
import { notFound } from '../status.ts'
import { waitForRevision } from '../store/wait-for-revision.ts'
import type { VerbContext } from './verb-context.ts'

/** Returns the newest state, which is at least as new as `notOlderThan`. */
export async function getObject(
  { store, aside }: VerbContext,
  { resource, namespace, name }: ItemTarget,
  notOlderThan: number | undefined,
): Promise<Answer> {
  await waitForRevision(store, notOlderThan, aside)
  const entry = await store.get(storeKey(resource, namespace, name))
  if (entry === undefined) throw notFound(resource, name)
  return { kind: 'object', httpCode: 200, resource, text: toWireText(resource, entry) }
}
