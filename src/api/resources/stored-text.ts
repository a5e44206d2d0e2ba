import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, withMetadata, without } from '../document.ts'
import { parseJson } from '../exact-json.ts'
import type { StoredEntry } from '../store/index.ts'
import { apiVersionOf, type Resource } from './resource.ts'

const metadataStart = '"metadata":{'

/**
 * Returns a document as the store keeps it: in the storage version; kind, apiVersion and metadata first, no
 * resourceVersion.
 */
export function toStoredText({ storage }: Resource, document: ApiDocument): string {
  if (storage === undefined) return renderDocument(document)
  const converted = storage.conversion?.toStored(document) ?? document
  return renderDocument({ ...converted, apiVersion: storage.apiVersion })
}

/** Renders a document: kind, apiVersion and metadata first, no resourceVersion. */
export function renderDocument(document: ApiDocument): string {
  const metadata = without(document.metadata as JsonObject, 'resourceVersion')
  const [first, second, third] = Object.keys(document)
  const isInOrder = first === 'kind' && second === 'apiVersion' && third === 'metadata'
  // An accepted object is in this order. A new one has no resourceVersion, and is not copied.
  if (isInOrder) return JSON.stringify(metadata === document.metadata ? document : { ...document, metadata })
  const { kind, apiVersion, metadata: _, ...fields } = document
  return JSON.stringify({ kind, apiVersion, metadata, ...fields })
}

/**
 * Returns an entry as clients of this version see it. It parses the entry only where that version differs from the
 * stored one.
 */
export function toWireText(resource: Resource, { value, revision }: Pick<StoredEntry, 'value' | 'revision'>): string {
  const text = needsConversion(resource) ? renderDocument(parseStored(resource, { value })) : value
  return insertRevision(text, revision)
}

/**
 * Returns an entry as an item of a list. Items of built-in kinds have no kind and no apiVersion, as in Kubernetes: those of the list say them.
 */
export function toItemText(resource: Resource, { value, revision }: Pick<StoredEntry, 'value' | 'revision'>): string {
  if (resource.isCustom === true) return toWireText(resource, { value, revision })
  const text = needsConversion(resource) ? renderDocument(parseStored(resource, { value })) : value
  return `{${metadataStart}"resourceVersion":"${revision}",${text.slice(startOfMetadata(text))}`
}

/**
 * Inserts the revision without parsing. Nothing before `metadata` can contain the same characters, because quotes in
 * kind and apiVersion would be escaped, and metadata is never empty.
 */
export function insertRevision(text: string, revision: number): string {
  const start = startOfMetadata(text)
  return `${text.slice(0, start)}"resourceVersion":"${revision}",${text.slice(start)}`
}

function startOfMetadata(text: string): number {
  return text.indexOf(metadataStart) + metadataStart.length
}

/** Returns the stored document in this resource's version, without its revision. */
export function parseStored(resource: Resource, { value }: Pick<StoredEntry, 'value'>): ApiDocument {
  const document = parseJson(value) as ApiDocument
  return needsConversion(resource) ? convert(resource, document) : document
}

/** Checks whether the store keeps another version than this resource's. */
export function needsConversion(resource: Resource): boolean {
  const { storage } = resource
  return storage !== undefined && (storage.conversion !== undefined || storage.apiVersion !== apiVersionOf(resource))
}

function convert(resource: Resource, stored: ApiDocument): ApiDocument {
  const converted = resource.storage?.conversion?.fromStored(stored) ?? stored
  return { ...converted, apiVersion: apiVersionOf(resource) }
}

export function withRevision(document: ApiDocument, revision: number): ApiDocument {
  return withMetadata(document, { resourceVersion: String(revision) })
}
