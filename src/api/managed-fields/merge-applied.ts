import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Schema } from '../schema/schema.ts'
import { groupItems, itemStep, memberSchema, shapeOf } from './shape.ts'

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

/** The items in the order of the configuration; those it does not name stay behind the item they followed. */
function mergeItems(schema: Schema | undefined, live: readonly Json[], applied: readonly Json[]): readonly Json[] {
  const steps = live.map((item) => itemStep(schema, item))
  const wanted = groupItems(schema, applied)
  const merged: Json[] = []
  let cursor = 0
  const takeUnnamed = (end: number) => {
    for (; cursor < end; cursor++) {
      const item = live[cursor]
      if (item !== undefined && !wanted.has(steps[cursor] ?? '')) merged.push(item)
    }
  }
  for (const [step, [item = null]] of wanted) {
    const index = steps.indexOf(step)
    takeUnnamed(index)
    merged.push(index === -1 ? item : mergeApplied(schema?.items, live[index], item))
  }
  takeUnnamed(live.length)
  return merged
}
