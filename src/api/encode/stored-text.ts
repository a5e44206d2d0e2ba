import type { JsonObject } from '../../model/api-object.ts'
import { type ApiDocument, withMetadata, without } from '../document.ts'
import type { StoredEntry } from '../store/index.ts'

const metadataStart = '"metadata":{'

/** A document as the store keeps it: kind, apiVersion and metadata first, no resourceVersion. */
export function toStoredText(document: ApiDocument): string {
  const { kind, apiVersion, metadata, ...fields } = document
  return JSON.stringify({ kind, apiVersion, metadata: without(metadata as JsonObject, 'resourceVersion'), ...fields })
}

/**
 * The wire text of a stored value, its revision put in without parsing: nothing before `metadata` can hold the same characters,
 * because quotes in kind and apiVersion would be escaped, and metadata is never empty.
 */
export function toWireText(value: string, revision: number): string {
  const start = value.indexOf(metadataStart) + metadataStart.length
  return `${value.slice(0, start)}"resourceVersion":"${revision}",${value.slice(start)}`
}

/** The stored document without its revision. */
export function parseStored(entry: StoredEntry): ApiDocument {
  return JSON.parse(entry.value) as ApiDocument
}

export function withRevision(document: ApiDocument, revision: number): ApiDocument {
  return withMetadata(document, { resourceVersion: String(revision) })
}
