import type { Json, JsonObject } from '../../model/api-object.ts'
import type { Schema } from '../schema/schema.ts'
import { mergeOrder } from './merge-order.ts'
import { groupItems, isEmptyShape, itemStep, memberSchema, shapeOf } from './shape.ts'

/**
 * Merges an applied configuration into the live value: maps and keyed lists by key, everything else is replaced. A null replaces no map and no
 * keyed list, so that fields of other managers stay.
 */
export function mergeApplied(schema: Schema | undefined, live: Json | undefined, applied: Json): Json {
  const below = shapeOf(schema, live)
  const above = shapeOf(schema, applied)
  if (above.kind === 'leaf' || below.kind !== above.kind) return applied
  if (isEmptyShape(below) && isEmptyShape(above)) return applied
  if (below.kind === 'map' && above.kind === 'map') return mergeMembers(schema, below.value, above.value)
  return below.kind === 'items' && above.kind === 'items' ? mergeItems(schema, below.value, above.value) : applied
}

function mergeMembers(schema: Schema | undefined, live: JsonObject, applied: JsonObject): JsonObject {
  const merged = new Map(Object.entries(live))
  for (const [key, value] of Object.entries(applied)) {
    if (value === undefined) continue
    merged.set(key, mergeApplied(memberSchema(schema, key) || undefined, merged.get(key), value))
  }
  return Object.fromEntries(merged)
}

/** Merges list items. Live items with a duplicated key stay where the configuration does not name the key; its item replaces them where it does. */
function mergeItems(schema: Schema | undefined, live: readonly Json[], applied: readonly Json[]): readonly Json[] {
  const present = groupItems(schema, live)
  const steps = applied.map((item) => itemStep(schema, item))
  const order = mergeOrder(
    live.map((item) => itemStep(schema, item)),
    steps,
  )
  return order.map(({ from, index }) => {
    if (from === 'live') return live[index] ?? null
    const [before, ...more] = present.get(steps[index] ?? '') ?? []
    return mergeApplied(schema?.items, more.length > 0 ? undefined : before, applied[index] ?? null)
  })
}
