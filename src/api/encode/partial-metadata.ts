import type { JsonObject } from '../../model/api-object.ts'
import type { ApiDocument } from '../document.ts'
import type { MetaVersion, View } from '../negotiate/accept.ts'
import { apiVersionOf, type Resource } from '../resources/resource.ts'

/** The kind that generic clients request (garbage collectors, metadata informers): the identity of an object without its content. */
const kind = 'PartialObjectMetadata'

export function partialMetadata({ metadata }: Pick<ApiDocument, 'metadata'>, apiVersion: MetaVersion): JsonObject {
  return { kind, apiVersion, metadata }
}

/** Returns the PartialObjectMetadata of a document's text, as text. */
export function toMetadataText(text: string, apiVersion: MetaVersion): string {
  return JSON.stringify(partialMetadata(JSON.parse(text) as ApiDocument, apiVersion))
}

/** Returns the kind and apiVersion that represent a resource's objects in a response with that view. */
export function typeMetaOf(resource: Resource, view: View): { readonly kind: string; readonly apiVersion: string } {
  return view.kind === 'metadata'
    ? { kind, apiVersion: view.apiVersion }
    : { kind: resource.kind, apiVersion: apiVersionOf(resource) }
}
