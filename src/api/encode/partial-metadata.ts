import type { JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import { apiVersionOf, type Resource } from '../resources/resource.ts'

/** The type that generic clients request (garbage collectors, metadata informers): the identity of an object without its content. */
const partialMetadataType = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' }

export function partialMetadata({ metadata }: Pick<ApiDocument, 'metadata'>): JsonObject {
  return { ...partialMetadataType, metadata }
}

/** Returns the PartialObjectMetadata of a document's text, as text. */
export function toMetadataText(text: string): string {
  return JSON.stringify(partialMetadata(JSON.parse(text) as ApiDocument))
}

/** Returns the kind and apiVersion that represent a resource's objects in a response of that form. */
export function typeMetaOf(
  resource: Resource,
  isMetadata: boolean,
): { readonly kind: string; readonly apiVersion: string } {
  return isMetadata ? partialMetadataType : { kind: resource.kind, apiVersion: apiVersionOf(resource) }
}
