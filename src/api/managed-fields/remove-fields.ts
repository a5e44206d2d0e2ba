import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Schema } from '../schema/schema.ts'
import { childOf, type FieldSet } from './field-set.ts'
import { itemStep, memberSchema, shapeOf } from './shape.ts'

/**
 * Returns the value without the paths of the set, each with everything below it. A map or list that loses all its content becomes null, which
 * counts as absent wherever null is not allowed.
 */
export function removeFields(schema: Schema | undefined, value: Json, removed: FieldSet): Json {
  if (removed.children.size === 0) return value
  const shape = shapeOf(schema, value)
  if (shape.kind === 'map') return removeMembers(schema, shape.value, removed)
  return shape.kind === 'items' ? removeItems(schema, shape.value, removed) : value
}

function removeMembers(schema: Schema | undefined, value: JsonObject, removed: FieldSet): JsonObject | null {
  const kept: [string, Json][] = []
  for (const [key, member] of Object.entries(value)) {
    const below = childOf(removed, `f:${key}`)
    if (member === undefined || below.isMember) continue
    kept.push([key, removeFields(memberSchema(schema, key) || undefined, member, below)])
  }
  return kept.length === 0 ? null : Object.fromEntries(kept)
}

function removeItems(schema: Schema | undefined, items: readonly Json[], removed: FieldSet): readonly Json[] | null {
  const kept = items.flatMap((item) => {
    const below = childOf(removed, itemStep(schema, item))
    return below.isMember ? [] : [removeFields(schema?.items, item, below)]
  })
  return kept.length === 0 ? null : kept
}
