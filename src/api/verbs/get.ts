import { toWireText } from '../encode/stored-text.ts'
import { storeKey } from '../resources/keys.ts'
import { notFound } from '../status.ts'
import type { Answer, ItemTarget, VerbContext } from './verb-context.ts'

export async function getObject({ store }: VerbContext, { resource, namespace, name }: ItemTarget): Promise<Answer> {
  const entry = await store.get(storeKey(resource, namespace, name))
  if (entry === undefined) throw notFound(resource, name)
  return { kind: 'object', httpCode: 200, resource, text: toWireText(resource, entry) }
}
