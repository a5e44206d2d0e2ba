import type { JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import { apiVersionOf, type Resource } from '../resources/resource.ts'

/** What clients that follow objects of any kind ask for (garbage collectors, metadata informers): who an object is, without its content. */
const partialMetadataType = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' }

export function partialMetadata({ metadata }: Pick<ApiDocument, 'metadata'>): JsonObject {
  return { ...partialMetadataType, metadata }
}

/** The same of a document as text. */
export function toMetadataText(text: string): string {
  return JSON.stringify(partialMetadata(JSON.parse(text) as ApiDocument))
}

/** Kind and apiVersion of what stands for a resource's objects in an answer of that form. */
export function typeMetaOf(
  resource: Resource,
  isMetadata: boolean,
): { readonly kind: string; readonly apiVersion: string } {
  return isMetadata ? partialMetadataType : { kind: resource.kind, apiVersion: apiVersionOf(resource) }
}
