import type { ListOptions } from '../decode/query.ts'
import type { ApiDocument } from '../document.ts'
import type { Answer, ItemTarget, Target } from '../request/request.ts'
import { apiVersionOf } from '../resources/resource.ts'
import { renderDocument } from '../resources/stored-text.ts'
import { notFound } from '../status.ts'
import { parseSelection } from './selection.ts'
import type { VerbContext } from './verb-context.ts'

/** Answers a get of a computed kind. */
export async function getComputed(target: ItemTarget): Promise<Answer> {
  const { resource, name } = target
  const [document] = await compute(target)
  if (document === undefined) throw notFound(resource, name)
  return { kind: 'object', httpCode: 200, resource, text: renderDocument(document) }
}

/** Answers a list of a computed kind, in one page whatever its limit. */
export async function listComputed({ store }: VerbContext, target: Target, options: ListOptions): Promise<Answer> {
  const { resource } = target
  const selection = parseSelection(resource, options.labelSelector, options.fieldSelector)
  const documents = (await compute(target)).filter((document) => selection.matches(document))
  return {
    kind: 'list',
    resource,
    revision: store.revision,
    continueToken: undefined,
    remainingItemCount: undefined,
    items: { [Symbol.iterator]: () => documents.values().map(renderDocument) },
    isLong: documents.length > manyDocuments,
  }
}

const manyDocuments = 500

async function compute({ resource, namespace, name }: Target): Promise<readonly ApiDocument[]> {
  const documents = (await resource.computed?.({ namespace, name })) ?? []
  return documents.map((document) => ({ ...document, apiVersion: apiVersionOf(resource) }))
}
