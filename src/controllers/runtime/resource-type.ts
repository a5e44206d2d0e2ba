import { z } from 'zod'
import type { ApiResource } from '../../client/index.ts'

const labelsSchema = z.record(z.string(), z.string())

const ownerReferenceSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
})

/** What controllers read of every object's metadata; fields they do not know are kept, so that a written object loses nothing. */
export const metadataSchema = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  uid: z.string(),
  resourceVersion: z.string(),
  generation: z.number().optional(),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  labels: labelsSchema.optional(),
  annotations: labelsSchema.optional(),
  finalizers: z.array(z.string()).optional(),
  ownerReferences: z.array(ownerReferenceSchema).optional(),
})

export type Metadata = z.output<typeof metadataSchema>
export type OwnerReference = z.output<typeof ownerReferenceSchema>

/** Any object as a cache holds it. */
export interface CachedObject {
  readonly metadata: Metadata
}

/** A resource with the shape in which controllers see its objects. */
export interface ResourceType<T extends CachedObject = CachedObject> {
  readonly resource: ApiResource
  readonly apiVersion: string
  readonly kind: string
  /** Takes what the server sends; what it does not name is not kept in memory. */
  readonly schema: z.ZodType<T>
}

export function resourceType<T extends CachedObject>(
  group: string,
  version: string,
  plural: string,
  kind: string,
  schema: z.ZodType<T>,
): ResourceType<T> {
  const apiVersion = group === '' ? version : `${group}/${version}`
  return { resource: { group, version, resource: plural }, apiVersion, kind, schema }
}

/** `namespace/name`, or the name alone where there is no namespace. */
export function keyOf({ metadata }: { metadata: { name: string; namespace?: string | undefined } }): string {
  return metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`
}

/** The parts of a key; the namespace is undefined for what has none. */
export function splitKey(key: string): { readonly namespace: string | undefined; readonly name: string } {
  const slash = key.indexOf('/')
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

/** Makes the owner the one controller of what carries this reference. */
export function controllerReference(apiVersion: string, kind: string, { metadata }: CachedObject): OwnerReference {
  const { name, uid } = metadata
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }
}
