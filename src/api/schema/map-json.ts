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
  let changed: Record<string, Json | undefined> | undefined
  let hasDropped = false
  for (const key of Object.keys(value)) {
    const field = value[key]
    const next = field === undefined ? undefined : change(field, key)
    if (next === field && next !== undefined) continue
    // A copy has the key as its own, so that an assignment to `__proto__` sets the field.
    changed ??= { ...value }
    changed[key] = next
    hasDropped ||= next === undefined
  }
  if (changed === undefined) return value
  return hasDropped ? withoutUndefined(changed) : changed
}

function withoutUndefined(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined))
}

/**
 * The path of a value in error messages; undefined in a first pass, which only looks whether there is anything to name:
 * a path costs memory for each field of each object, and nearly every object is valid.
 */
export type JsonPath = string | undefined

export function fieldPath(path: JsonPath, key: string): JsonPath {
  return path === undefined ? undefined : joinPath(path, key)
}

export function itemPath(path: JsonPath, index: number): JsonPath {
  return path === undefined ? undefined : `${path}[${index}]`
}

/** Joins a path and a key: `spec.size`; a field of the root has no dot. */
export function joinPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}
