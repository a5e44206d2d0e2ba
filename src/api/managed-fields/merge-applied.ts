import type { Json, JsonObject } from '../../model/api-object.ts'
import { interleave } from '../patch/element-order.ts'
import type { Schema } from '../schema/schema.ts'
import { groupItems, memberSchema, shapeOf } from './shape.ts'

/** The live value with an applied configuration laid over it: maps and lists by their keys, everything else replaced. */
export function mergeApplied(schema: Schema | undefined, live: Json | undefined, applied: Json): Json {
  const below = shapeOf(schema, live)
  const above = shapeOf(schema, applied)
  if (above.kind === 'map') return mergeMembers(schema, below.kind === 'map' ? below.value : {}, above.value)
  if (above.kind === 'items' && below.kind === 'items') return mergeItems(schema, below.value, above.value)
  return applied
}

function mergeMembers(schema: Schema | undefined, live: JsonObject, applied: JsonObject): JsonObject {
  const merged = new Map(Object.entries(live))
  for (const [key, value] of Object.entries(applied)) {
    if (value === undefined) continue
    merged.set(key, mergeApplied(memberSchema(schema, key) || undefined, merged.get(key), value))
  }
  return Object.fromEntries(merged)
}

/** The items in the order of the configuration; those it does not name stay before the item they stood before. */
function mergeItems(schema: Schema | undefined, live: readonly Json[], applied: readonly Json[]): readonly Json[] {
  const present = groupItems(schema, live)
  const wanted = groupItems(schema, applied)
  return interleave([...present.keys()], [...wanted.keys()]).flatMap((step) => {
    const before = present.get(step) ?? []
    const [item] = wanted.get(step) ?? []
    return item === undefined ? before : [mergeApplied(schema?.items, before[0], item)]
  })
}
