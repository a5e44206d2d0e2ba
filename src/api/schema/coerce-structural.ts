import type { JsonObject } from '../../model/api-object.ts'
import { coerce, type TypeProblem } from './coerce.ts'
import { coerceEmbedded, objectMetadata } from './coerce-embedded.ts'
import { dropNulls, fillDefaults, prune } from './prune.ts'
import type { Schema } from './schema.ts'

export interface CoercedObject {
  readonly value: JsonObject
  /** In metadata, also that of embedded resources: elsewhere types are for validation. */
  readonly problems: readonly TypeProblem[]
  /** Paths of the fields that were dropped. */
  readonly unknown: readonly string[]
}

/**
 * Brings a whole object into the shape of a custom resource's schema: metadata as every kind has it, then pruning, nulls,
 * the metadata of embedded resources and defaults, in that order. The schema's own word on metadata is for validation.
 */
export function coerceStructural(schema: Schema, object: JsonObject): CoercedObject {
  const { metadata = {}, ...fields } = object
  const coerced = coerce(objectMetadata, metadata ?? {}, 'metadata')
  const pruned = prune({ ...schema, embeddedResource: true }, fields)
  const embedded = coerceEmbedded(schema, dropNulls(schema, pruned.value))
  const { metadata: _, ...rest } = fillDefaults(schema, embedded.value) as JsonObject
  const problems = [...coerced.problems, ...embedded.problems]
  return { value: { ...rest, metadata: coerced.value }, problems, unknown: pruned.unknown }
}
