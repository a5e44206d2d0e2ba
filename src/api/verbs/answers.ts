import type { ApiDocument } from '../document.ts'
import { insertRevision, renderDocument } from '../encode/stored-text.ts'
import type { Resource } from '../resources/resource.ts'
import { renderSuccess } from '../status.ts'
import type { Answer } from './verb-context.ts'

/** Revision 0 is an object that was never stored (a dry run): it shows none. */
export function objectAnswer(resource: Resource, document: ApiDocument, revision: number, httpCode = 200): Answer {
  const rendered = renderDocument(document)
  const text = revision === 0 ? rendered : insertRevision(rendered, revision)
  return { kind: 'object', httpCode, resource, text, warnings: resource.strategy.warnings?.(document) ?? [] }
}

export function deletedAnswer(resource: Resource, document: ApiDocument): Answer {
  const { name = '', uid = '' } = document.metadata
  const details = { name, group: resource.group, kind: resource.plural, uid }
  return { kind: 'document', httpCode: 200, text: renderSuccess(details) }
}
