import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Schema } from '../schema/schema.ts'
import { childOf, type FieldSet, isEmptySet } from './field-set.ts'
import { itemStep, memberSchema, shapeOf } from './shape.ts'

/**
 * Removes what an applier owned before and nobody owns now. A field goes with everything below it when no one owns any of that;
 * what others own keeps the fields and items that lead to it.
 */
export function dropAbandoned(schema: Schema | undefined, value: Json, before: FieldSet, owned: FieldSet): Json {
  if (before.children.size === 0) return value
  const shape = shapeOf(schema, value)
  if (shape.kind === 'map') return dropMembers(schema, shape.value, before, owned)
  return shape.kind === 'items' ? dropItems(schema, shape.value, before, owned) : value
}

function dropMembers(schema: Schema | undefined, value: JsonObject, before: FieldSet, owned: FieldSet): JsonObject {
  const kept: [string, Json][] = []
  for (const [key, member] of Object.entries(value)) {
    const step = `f:${key}`
    const was = childOf(before, step)
    const isAbandoned = !isEmptySet(was) && isEmptySet(childOf(owned, step))
    if (member === undefined || isAbandoned) continue
    kept.push([key, dropAbandoned(memberSchema(schema, key) || undefined, member, was, childOf(owned, step))])
  }
  return Object.fromEntries(kept)
}

function dropItems(schema: Schema | undefined, items: readonly Json[], before: FieldSet, owned: FieldSet): Json {
  return items.flatMap((item) => {
    const step = itemStep(schema, item)
    const was = childOf(before, step)
    const is = childOf(owned, step)
    return was.isMember && isEmptySet(is) ? [] : [dropAbandoned(schema?.items, item, was, is)]
  })
}
