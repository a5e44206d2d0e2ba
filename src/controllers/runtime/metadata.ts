import { z } from 'zod'

/** Returns a schema that replaces a missing field or null with the default value. */
export function otherwise<S extends z.ZodType>(schema: S, fallback: z.output<S>) {
  return schema.nullish().transform((value): z.output<S> => value ?? fallback)
}

export const optional = <S extends z.ZodType>(schema: S) => schema.nullish().transform((value) => value ?? undefined)

export const texts = otherwise(z.record(z.string(), z.string()), {})

const ownerReferenceSchema = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  // What its writer left out stays out when a controller writes the owners again.
  controller: optional(z.boolean()),
  blockOwnerDeletion: optional(z.boolean()),
})

/** The metadata that a cache needs of every object: its identity, owners, finalizers and deletion state. */
export const identitySchema = z.object({
  name: otherwise(z.string(), ''),
  namespace: optional(z.string()),
  uid: otherwise(z.string(), ''),
  resourceVersion: otherwise(z.string(), ''),
  deletionTimestamp: optional(z.string()),
  finalizers: otherwise(z.array(z.string()), []),
  ownerReferences: otherwise(z.array(ownerReferenceSchema), []),
})

/** The metadata that controllers read. Managed fields, the largest part, are not kept in memory. */
export const metadataSchema = identitySchema.extend({
  generateName: optional(z.string()),
  generation: otherwise(z.number(), 0),
  creationTimestamp: otherwise(z.string(), ''),
  labels: texts,
  annotations: texts,
})

export type Identity = z.output<typeof identitySchema>
export type Metadata = z.output<typeof metadataSchema>
export type OwnerReference = z.output<typeof ownerReferenceSchema>

/** Builds the metadata of a PUT for exactly that version; labels and annotations are the caller's. */
export function replacedMetadata({
  name,
  namespace,
  generateName,
  uid,
  resourceVersion,
  finalizers,
  ownerReferences,
}: Metadata) {
  return {
    name,
    namespace,
    generateName,
    uid,
    resourceVersion,
    ...(finalizers.length > 0 && { finalizers }),
    ...(ownerReferences.length > 0 && { ownerReferences }),
  }
}
