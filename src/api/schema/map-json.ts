import type { Json, JsonObject } from '../../model/api-object.ts'

/** Maps the items of an array; returns that array itself where no item changes. */
export function mapItems(items: readonly Json[], change: (item: Json, index: number) => Json): readonly Json[] {
  let changed: Json[] | undefined
  for (const [index, item] of items.entries()) {
    const next = change(item, index)
    if (next === item) continue
    changed ??= [...items]
    changed[index] = next
  }
  return changed ?? items
}

/**
 * Maps the fields of an object; returns that object itself where no field changes. Undefined drops a field. Keys keep their order; `__proto__`
 * is a key like any other.
 */
export function mapFields(value: JsonObject, change: (field: Json, key: string) => Json | undefined): JsonObject {
  let changed: Map<string, Json | undefined> | undefined
  for (const key of Object.keys(value)) {
    const field = value[key]
    const next = field === undefined ? undefined : change(field, key)
    if (next === field && next !== undefined) continue
    changed ??= new Map()
    changed.set(key, next)
  }
  return changed === undefined ? value : withChanged(value, changed)
}

function withChanged(value: JsonObject, changed: ReadonlyMap<string, Json | undefined>): JsonObject {
  const entries: [string, Json][] = []
  for (const [key, field] of Object.entries(value)) {
    const next = changed.has(key) ? changed.get(key) : field
    if (next !== undefined) entries.push([key, next])
  }
  return Object.fromEntries(entries)
}

/** Joins a path and a key: `spec.size`; a field of the root has no dot. */
export function joinPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}
