import type { JsonObject } from '../../model/api-object.ts'
import { coerce, type TypeProblem } from './coerce.ts'
import { coerceEmbedded, objectMetadata } from './coerce-embedded.ts'
import { dropNulls, fillDefaults, prune } from './prune.ts'
import type { Schema } from './schema.ts'

export interface CoercedObject {
  readonly value: JsonObject
  /** Type errors in metadata, that of embedded resources included; validation reports those of other fields. */
  readonly problems: readonly TypeProblem[]
  /** Paths of the fields that were dropped. */
  readonly unknown: readonly string[]
}

/**
 * Coerces a whole object to the schema of a custom resource: metadata as in every kind, then pruning, nulls, the metadata of embedded
 * resources and defaults, in that order. What the schema itself declares for metadata serves validation only.
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
