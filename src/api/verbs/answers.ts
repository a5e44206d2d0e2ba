import type { ApiDocument } from '../document.ts'
import type { Answer } from '../request/request.ts'
import type { Resource } from '../resources/resource.ts'
import { insertRevision, needsConversion, renderDocument } from '../resources/stored-text.ts'
import { renderSuccess } from '../status.ts'

/** An object in its present state. */
interface Found {
  readonly document: ApiDocument
  /** The revision; 0 for an object that was never stored (a dry run), which then shows none. */
  readonly revision: number
  /** The stored text, where it is known; it need not be rendered again. */
  readonly storedText?: string | undefined
}

export function objectAnswer(
  resource: Resource,
  { document, revision, storedText }: Found,
  httpCode: number = 200,
): Answer {
  const isAsStored = storedText !== undefined && !needsConversion(resource)
  const rendered = isAsStored ? storedText : renderDocument(document)
  const text = revision === 0 ? rendered : insertRevision(rendered, revision)
  return { kind: 'object', httpCode, resource, text, warnings: resource.strategy.warnings?.(document) ?? [] }
}

export function deletedAnswer(resource: Resource, document: ApiDocument): Answer {
  const { name = '', uid = '' } = document.metadata
  const details = { name, group: resource.group, kind: resource.plural, uid }
  return { kind: 'document', httpCode: 200, text: renderSuccess(details) }
}
